#include "sim/sweep/run_result.h"

#include "aggregation/base/input_file.h"
#include "sim/record/table_reader.h"
#include "sim/screen/run_view.h"

#include <nlohmann/json.hpp>

namespace fedhive::sim {

namespace {

void add_row(RunResult& result, const RunView::Row& row, const std::optional<MetricTarget>& target) {
    result.rounds = row.round;
    result.version = row.version;
    result.failed += row.failed;
    result.bytes_down += row.bytes_down;
    result.bytes_up += row.bytes_up;
    result.virtual_s = row.virtual_s;
    if (!row.quality) return;
    result.final_loss = row.test_loss;
    result.final_quality = row.quality;
    if (!result.best_quality || result.metric->is_better(*row.quality, *result.best_quality)) {
        result.best_quality = row.quality;
        result.best_round = row.round;
    }
    if (target && row.other && !result.rounds_to_target && target->metric->reaches(*row.other, target->value))
        result.rounds_to_target = row.round;
}

void add_fairness(RunResult& result, const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return;
    try {
        for (TableReader table(file); table.next();) {
            RunResult::OnClients row;
            const std::string& name = shown_metric(result.metric).name;
            const bool whole = parse_cell(table.text(name + "_mean"), row.mean) &&
                               parse_cell(table.text(name + "_std"), row.std) &&
                               parse_cell(table.text(name + "_worst_10"), row.worst_10) &&
                               parse_cell(table.text(name + "_best_10"), row.best_10);
            if (whole) (table.text("model") == "personalized" ? result.personalized : result.global) = row;
        }
    } catch (const ConfigError&) {
        return;  // keep what was read before
    }
}

}  // namespace

RunResult read_result(const std::filesystem::path& run, const std::optional<MetricTarget>& target) {
    RunResult result;
    RunView view(run, target ? "test_" + target->metric->name : "");
    view.refresh();
    result.metric = view.metric();
    for (const RunView::Row& row : view.rows()) add_row(result, row, target);
    add_fairness(result, run / "fairness.csv");
    const auto manifest = nlohmann::json::parse(read_file_or_nothing(run / "manifest.json"), nullptr, false);
    if (!manifest.is_object()) return result;
    const auto number = [&](const nlohmann::json::json_pointer& where) {
        return manifest.contains(where) && manifest[where].is_number() ? std::optional(manifest[where].get<double>())
                                                                       : std::nullopt;
    };
    result.wall_s = number(nlohmann::json::json_pointer("/wall_s/total"));
    if (const auto failures = number(nlohmann::json::json_pointer("/failures/failures")))
        result.failures = static_cast<std::uint64_t>(*failures);
    const auto sha = manifest.find("model_sha256");
    if (sha != manifest.end() && sha->is_string()) result.model_sha256 = sha->get<std::string>();
    return result;
}

}  // namespace fedhive::sim
