#include "sim/sweep/summary.h"

#include "sim/config/markdown.h"
#include "sim/record/durable_file.h"
#include "sim/sweep/interval.h"
#include "sim/sweep/paired.h"
#include "sim/sweep/run_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace fedhive::sim {

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
std::string cell(const std::optional<Value>& value) {
    return value ? fmt::format("{}", *value) : "";
}

/// A cell by RFC 4180: quoted if necessary.
std::string cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string escaped;
    for (const char c : text) {
        if (c == '"') escaped += '"';
        escaped += c;
    }
    return fmt::format("\"{}\"", escaped);
}

/// A number as in sweep.json; empty for null.
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
        cell(result.final_quality),
        cell(result.best_quality),
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
        cell(case_of(run)),
        cell(result.global.mean),
        cell(result.global.std),
        cell(result.global.worst_10),
        cell(result.personalized.mean),
        cell(result.personalized.std),
        cell(result.personalized.worst_10),
        cell(result.global.best_10),
        cell(result.personalized.best_10),
    };
    cells.insert(cells.end(), outcome.begin(), outcome.end());
    return fmt::format("{}\n", fmt::join(cells, ","));
}

/// "0.9712 ± 0.0013", over the runs that have the value; "–" if none has.
std::string mean_over(const RunGroup& group, const std::vector<RunResult>& results, const Outcome& outcome) {
    std::vector<double> values;
    for (const std::size_t run : group.finished)
        if (const auto value = outcome.of(results[run])) values.push_back(*value);
    if (values.empty()) return "–";
    const bool all = values.size() == group.finished.size();
    return fmt::format("{}{}", to_string(mean_interval(values), outcome.decimals),
                       all ? "" : fmt::format(" ({} of {})", values.size(), group.finished.size()));
}

std::string table_of_groups(const Json& sweep, const std::vector<RunResult>& results) {
    const std::vector<RunGroup> groups = group_runs(sweep);
    std::vector<Outcome> shown = outcomes(sweep, results);
    shown.push_back({"wall s", [](const RunResult& result) { return result.wall_s; }, 1});
    std::vector<std::string> columns;
    columns.emplace_back("runs");
    for (const Outcome& outcome : shown) columns.push_back(outcome.head);
    std::string text = markdown_head(setting_keys(sweep), columns);
    for (const RunGroup& group : groups) {
        std::vector<std::string> cells = group.settings;
        const std::size_t finished = group.finished.size();
        cells.push_back(finished == group.runs ? fmt::format("{}", finished) : fmt::format("{} of {}", finished, group.runs));
        for (const Outcome& outcome : shown) cells.push_back(mean_over(group, results, outcome));
        text += markdown_row(cells);
    }
    return text;
}

/// "; 20 of 300 rounds are done, accuracy 0.8125 so far", for a run that has not ended.
std::string so_far(const Json& run, const RunResult& result, const clients::Metric& metric) {
    if (result.rounds == 0 || state_of(run) == RunState::Failed || state_of(run) == RunState::Stopped) return "";
    const std::string quality =
        result.final_quality ? fmt::format(", {} {:.4f} so far", metric.title, *result.final_quality) : "";
    return fmt::format("; {} of {} rounds are done{}", result.rounds, run["rounds"].get<std::int64_t>(), quality);
}

std::string list_of_others(const Json& sweep, const std::vector<RunResult>& results) {
    std::string text;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Json& run = sweep["runs"][i];
        if (state_of(run) == RunState::Finished) continue;
        const std::string reason = run["reason"].get<std::string>();
        text += fmt::format("- `{}`: {}{}{}\n", run["id"].get<std::string>(), run["status"].get<std::string>(),
                            reason.empty() ? "" : fmt::format(": {}", cell_text(reason)),
                            so_far(run, results[i], metric_of(results)));
    }
    return text.empty() ? "" : "\nNot finished, so not in the table:\n\n" + text;
}

/// For an interrupted sweep: its progress, and how to resume it.
std::string interruption(const Json& sweep, const std::vector<RunResult>& results, const std::string& folder) {
    const std::string exit_status = sweep["exit_status"].get<std::string>();
    if (state_told(exit_status) != RunState::Interrupted) return "";
    std::int64_t done = 0;
    std::int64_t planned = 0;
    std::size_t finished = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        done += results[i].rounds;
        planned += sweep["runs"][i]["rounds"].get<std::int64_t>();
        finished += state_of(sweep["runs"][i]) == RunState::Finished ? 1 : 0;
    }
    return fmt::format("{}: {} of {} runs have finished, {} of {} rounds are done. To resume: `fedhive sweep --resume {}`\n\n",
                       exit_status, finished, results.size(), done, planned, folder);
}

}  // namespace

std::string summary_csv(const Json& sweep, const std::vector<RunResult>& results) {
    std::string text = "run,status";
    for (const Json& key : sweep["keys"]) text += fmt::format(",{}", cell(key));
    text += fmt::format(
        ",seed,rounds_done,version,final_test_loss,final_test_{0},best_test_{0},best_round,rounds_to_target,failed,bytes_down,"
        "bytes_up,virtual_s,model_sha256,wall_s,cpu_s,peak_bytes,workers_used,attempts,failures,reason,case,"
        "client_{0}_mean,client_{0}_std,client_{0}_worst_10,personalized_{0}_mean,personalized_{0}_std,"
        "personalized_{0}_worst_10,client_{0}_best_10,personalized_{0}_best_10\n",
        metric_of(results).name);
    for (std::size_t i = 0; i < results.size(); ++i) text += csv_row(sweep, sweep["runs"][i], results[i]);
    return text;
}

std::string summary_markdown(const Json& sweep, const std::vector<RunResult>& results, const std::string& folder) {
    const bool alone = sweep["jobs"] == 1 || results.size() < 2;
    const std::string& metric = metric_of(results).title;
    std::string begins = metric;
    const std::string weights = weights_note(sweep);
    begins[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(begins[0])));
    return fmt::format(
        "# {}\n\n{}Mean over seeds ± half the 95 % interval (Student's t). {} and loss are those of the global model on "
        "the test examples; the best {} is that of any round.{}{}\n\n{}{}{}",
        sweep["name"].get<std::string>(), interruption(sweep, results, folder), begins, metric,
        alone ? "" : " Runs share the machine, so their wall s cannot be compared (`--jobs 1`: one at a time).",
        weights.empty() ? "" : " " + cell_text(weights), table_of_groups(sweep, results), paired_differences(sweep, results),
        list_of_others(sweep, results));
}

void Summary::write(const Json& sweep) {
    std::vector<RunResult> results;
    for (const Json& run : sweep["runs"]) {
        const auto id = run["id"].get<std::string>();
        const RunState state = state_of(run);
        const std::string key = fmt::format("{} {} {}", id, word_of(state), run["attempts"].dump());
        const bool ended = state == RunState::Finished || state == RunState::Stopped || state == RunState::Failed;
        const auto known = ended_.find(key);
        if (known != ended_.end()) {
            results.push_back(known->second);
            continue;
        }
        results.push_back(read_result(folder_ / "runs" / id, target_of(sweep)));
        if (ended) ended_[key] = results.back();
    }
    write_file(folder_ / "summary.csv", summary_csv(sweep, results));
    write_file(folder_ / "summary.md", summary_markdown(sweep, results, folder_.string()));
}

}  // namespace fedhive::sim
