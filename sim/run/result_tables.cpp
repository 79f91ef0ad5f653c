#include "sim/run/result_tables.h"

#include "clients/tasks/learning_task.h"
#include "clients/tasks/measures.h"
#include "clients/uploads/upload.h"
#include "sim/run/fairness_table.h"
#include "sim/run/partition_table.h"
#include "sim/run/round_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fedhive::sim {

namespace {

constexpr const char* kIntroduction = R"(# Every column of a run's tables

*Generated from the code, not to be edited: `fedhive columns > results/COLUMNS.md`.*

[README.md](README.md) says what else a run writes. Columns are only added at the end of a row, so read them by name.
)";

/// "`classification`: `test_accuracy`, `test_top5_accuracy`; …"
std::string metrics_of_tasks() {
    std::string text;
    for (const clients::LearningTask& task : clients::task_catalog()) {
        text += fmt::format("{}`{}`: ", text.empty() ? "" : "; ", task.name);
        for (const clients::Metric& metric : task.metrics)
            text += fmt::format("{}`test_{}`", &metric == &task.metrics.front() ? "" : ", ", metric.name);
    }
    return text;
}

/// What clients can report in runs of that task.
std::vector<clients::ReportSpec> reports_of_task(const clients::LearningTask& task) {
    std::vector<clients::ReportSpec> reports;
    for (const std::string& measure : clients::measures_of(task)) reports.push_back(clients::report_of_measure(task, measure));
    reports.push_back(clients::report_of_clip());
    return reports;
}

std::string markdown_of(const TableText& table) {
    const bool units = std::ranges::any_of(table.columns, [](const ColumnText& column) { return !column.unit.empty(); });
    std::string text =
        fmt::format("\n## {}\n\n{}\n\n{}", table.file, table.about,
                    units ? "| Column | Unit | Meaning |\n|---|---|---|\n" : "| Column | Meaning |\n|---|---|\n");
    for (std::size_t first = 0, next = 0; first < table.columns.size(); first = next) {
        std::string names = fmt::format("`{}`", table.columns[first].name);
        for (next = first + 1; next < table.columns.size() && table.columns[next].meaning.empty(); ++next)
            names += fmt::format(", `{}`", table.columns[next].name);
        const ColumnText& column = table.columns[first];
        text += units ? fmt::format("| {} | {} | {} |\n", names, column.unit, column.meaning)
                      : fmt::format("| {} | {} |\n", names, column.meaning);
    }
    return text;
}

}  // namespace

std::vector<TableText> result_tables() {
    const clients::LearningTask& task = clients::task_catalog().front();
    const clients::Metric& metric = task.main_metric();
    return {
        {"rounds.csv", "One row a round. The columns of metrics follow from the task. " + metrics_of_tasks() + ".",
         rounds_csv(task, {}, {.epsilon = true, .attack_success = true, .clip_norm = true}).columns()},
        {"clients.csv", "One row a client a round.", clients_csv(true, reports_of_task(task), true).columns()},
        {"partition.csv", "One row a client.", partition_csv(2, true, true).columns()},
        {"arrivals.csv", "Wall clock only: one row an arrival.", arrivals_csv().columns()},
        {"fairness.csv",
         "Only with `evaluation.clients.every`: one row an evaluated round and model. Names begin with the task's main metric.",
         fairness_csv(metric).columns()},
        {client_table_name(metric),
         "Only with `evaluation.clients.every`: the last evaluated round, one row a model and client. Named after the task's "
         "main metric.",
         client_quality_csv(metric, true).columns()}};
}

std::string columns_markdown() {
    std::string text = kIntroduction;
    for (const TableText& table : result_tables()) text += markdown_of(table);
    return text;
}

nlohmann::ordered_json columns_json() {
    nlohmann::ordered_json json;
    for (const TableText& table : result_tables())
        for (const ColumnText& column : table.columns)
            json[table.file].push_back({{"name", column.name}, {"unit", column.unit}, {"text", column.is_text}});
    return json;
}

}  // namespace fedhive::sim
