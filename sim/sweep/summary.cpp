#include "sim/sweep/summary.h"

#include "sim/record/durable_file.h"
#include "sim/sweep/interval.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
std::string cell(const std::optional<Value>& value) {
    return value ? fmt::format("{}", *value) : "";
}

/// RFC 4180: quoted where it has to be.
std::string cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string escaped;
    for (const char c : text) {
        if (c == '"') escaped += '"';
        escaped += c;
    }
    return fmt::format("\"{}\"", escaped);
}

/// A number as it stands in sweep.json; empty for null.
std::string cell(const Json& value) {
    if (value.is_null()) return "";
    return value.is_string() ? cell(value.get<std::string>()) : value.dump();
}

std::string setting(const Json& run, const std::string& key) { return run["settings"].value(key, ""); }

std::string csv_row(const Json& sweep, const Json& run, const RunResult& result) {
    std::vector<std::string> cells{cell(run["id"]), cell(run["status"])};
    for (const Json& key : sweep["keys"]) cells.push_back(cell(setting(run, key)));
    const std::vector<std::string> outcome{
        cell(run["seed"]),
        fmt::format("{}", result.rounds),
        cell(result.version),
        cell(result.final_loss),
        cell(result.final_accuracy),
        cell(result.best_accuracy),
        cell(result.best_round),
        cell(result.rounds_to_target),
        fmt::format("{}", result.failed),
        fmt::format("{}", result.bytes_down),
        fmt::format("{}", result.bytes_up),
        cell(result.virtual_s),
        result.model_sha256,
        cell(result.wall_s),
        cell(run["cpu_s"]),
        cell(run["peak_bytes"]),
        cell(run["workers"]),
        cell(run["attempts"]),
        cell(result.failures),
        cell(run["reason"]),
    };
    cells.insert(cells.end(), outcome.begin(), outcome.end());
    return fmt::format("{}\n", fmt::join(cells, ","));
}

/// Runs that differ in nothing but their seed.
struct Group {
    std::vector<std::string> settings;
    std::vector<const RunResult*> finished;
    std::size_t runs = 0;
};

std::vector<Group> group_by_settings(const Json& sweep, const std::vector<RunResult>& results) {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Json& run = sweep["runs"][i];
        std::vector<std::string> settings;
        for (const Json& key : sweep["keys"]) settings.push_back(setting(run, key));
        auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& one) { return one.settings == settings; });
        if (group == groups.end()) group = groups.insert(groups.end(), {settings, {}, 0});
        ++group->runs;
        if (run["status"] == "finished") group->finished.push_back(&results[i]);
    }
    return groups;
}

/// "0.9712 ± 0.0013", over the runs that have the value; "–" where none has.
template <class Value>
std::string mean_over(const Group& group, std::optional<Value> RunResult::*member, int digits) {
    std::vector<double> values;
    for (const RunResult* result : group.finished)
        if (const auto& value = result->*member) values.push_back(static_cast<double>(*value));
    if (values.empty()) return "–";
    const MeanInterval found = mean_interval(values);
    const std::string width = found.half_width ? fmt::format(" ± {:.{}f}", *found.half_width, digits) : "";
    const bool all = values.size() == group.finished.size();
    return fmt::format("{:.{}f}{}{}", found.mean, digits, width,
                       all ? "" : fmt::format(" ({} of {})", values.size(), group.finished.size()));
}

/// What Markdown would take for the end of a cell.
std::string escaped(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string markdown_row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string table_of_groups(const Json& sweep, const std::vector<Group>& groups) {
    const bool target = !sweep["target_accuracy"].is_null();
    std::vector<std::string> head;
    for (const Json& key : sweep["keys"]) head.push_back(fmt::format("`{}`", key.get<std::string>()));
    head.insert(head.end(), {"runs", "final accuracy", "best accuracy", "final loss"});
    if (target) head.push_back(fmt::format("rounds to {}", sweep["target_accuracy"].get<double>()));
    head.emplace_back("wall s");
    std::string text = markdown_row(head) + markdown_row(std::vector<std::string>(head.size(), "---"));
    for (const Group& group : groups) {
        std::vector<std::string> cells;
        for (const std::string& value : group.settings) cells.push_back(escaped(value));
        const std::size_t finished = group.finished.size();
        cells.push_back(finished == group.runs ? fmt::format("{}", finished) : fmt::format("{} of {}", finished, group.runs));
        cells.push_back(mean_over(group, &RunResult::final_accuracy, 4));
        cells.push_back(mean_over(group, &RunResult::best_accuracy, 4));
        cells.push_back(mean_over(group, &RunResult::final_loss, 4));
        if (target) cells.push_back(mean_over(group, &RunResult::rounds_to_target, 1));
        cells.push_back(mean_over(group, &RunResult::wall_s, 1));
        text += markdown_row(cells);
    }
    return text;
}

std::string list_of_others(const Json& sweep) {
    std::string text;
    for (const Json& run : sweep["runs"]) {
        if (run["status"] == "finished") continue;
        const std::string reason = run["reason"].get<std::string>();
        text += fmt::format("- `{}`: {}{}\n", run["id"].get<std::string>(), run["status"].get<std::string>(),
                            reason.empty() ? "" : fmt::format(": {}", escaped(reason)));
    }
    return text.empty() ? "" : "\nNot finished, so not in the table:\n\n" + text;
}

}  // namespace

std::string summary_csv(const Json& sweep, const std::vector<RunResult>& results) {
    std::string text = "run,status";
    for (const Json& key : sweep["keys"]) text += fmt::format(",{}", cell(key));
    text +=
        ",seed,rounds_done,version,final_test_loss,final_test_accuracy,best_test_accuracy,best_round,rounds_to_target,failed,"
        "bytes_"
        "down,"
        "bytes_up,virtual_s,model_sha256,wall_s,cpu_s,peak_bytes,workers_used,attempts,failures,reason\n";
    for (std::size_t i = 0; i < results.size(); ++i) text += csv_row(sweep, sweep["runs"][i], results[i]);
    return text;
}

std::string summary_markdown(const Json& sweep, const std::vector<RunResult>& results) {
    return fmt::format(
        "# {}\n\nMean over seeds ± half the 95 % interval (Student's t). Accuracy and loss are those of the global model on "
        "the test "
        "examples.\n\n{}{}",
        sweep["name"].get<std::string>(), table_of_groups(sweep, group_by_settings(sweep, results)), list_of_others(sweep));
}

void Summary::write(const Json& sweep) {
    std::vector<RunResult> results;
    for (const Json& run : sweep["runs"]) {
        const auto id = run["id"].get<std::string>();
        const std::string status = run["status"].get<std::string>();
        const std::string state = fmt::format("{} {} {}", id, status, run["attempts"].dump());
        const bool ended = status == "finished" || status == "stopped" || status == "failed";
        const auto known = ended_.find(state);
        if (known != ended_.end()) {
            results.push_back(known->second);
            continue;
        }
        const Json& target = sweep["target_accuracy"];
        results.push_back(
            read_result(folder_ / "runs" / id, target.is_null() ? std::nullopt : std::optional(target.get<double>())));
        if (ended) ended_[state] = results.back();
    }
    write_file(folder_ / "summary.csv", summary_csv(sweep, results));
    write_file(folder_ / "summary.md", summary_markdown(sweep, results));
}

}  // namespace fedhive::sim
