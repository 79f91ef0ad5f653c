#include "sim/sweep/run_groups.h"

#include "sim/config/markdown.h"
#include "sim/record/main_metric.h"
#include "sim/strategies/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace fedhive::sim {

using Json = nlohmann::ordered_json;

std::string case_of(const Json& run) { return run.value("case", ""); }

RunState state_of(const Json& run) { return state_in_sweep(run["status"].get<std::string>()).value_or(RunState::Absent); }

namespace {

std::string value_of(const Json& run, const std::string& key) {
    return key == "case" ? case_of(run) : run["settings"].value(key, "");
}

/// True if each case has a name and a single value of the key.
bool decided_by_case(const Json& runs, const std::string& key) {
    std::map<std::string, std::string> values;
    return std::all_of(runs.begin(), runs.end(), [&](const Json& run) {
        const std::string value = value_of(run, key);
        return !case_of(run).empty() && values.emplace(case_of(run), value).first->second == value;
    });
}

}  // namespace

std::vector<std::string> setting_keys(const Json& sweep) {
    const Json& runs = sweep["runs"];
    const bool cases = std::any_of(runs.begin(), runs.end(), [](const Json& run) { return !case_of(run).empty(); });
    std::vector<std::string> keys;
    if (cases) keys.emplace_back("case");
    for (const std::string key : sweep["keys"])
        if (!key.starts_with("seeds.") && !(cases && decided_by_case(runs, key))) keys.push_back(key);
    return keys;
}

std::vector<RunGroup> group_runs(const Json& sweep) {
    const std::vector<std::string> keys = setting_keys(sweep);
    std::vector<RunGroup> groups;
    for (std::size_t i = 0; i < sweep["runs"].size(); ++i) {
        const Json& run = sweep["runs"][i];
        std::vector<std::string> settings;
        settings.reserve(keys.size());
        for (const std::string& key : keys) settings.push_back(value_of(run, key));
        auto group = std::find_if(groups.begin(), groups.end(), [&](const RunGroup& one) { return one.settings == settings; });
        if (group == groups.end()) group = groups.insert(groups.end(), {settings, {}, 0});
        ++group->runs;
        if (state_of(run) == RunState::Finished) group->finished.push_back(i);
    }
    return groups;
}

std::string weights_note(const Json& sweep) {
    std::vector<std::string> uniform;
    bool others = false;
    bool told = true;  // names suffice: each has one weighting
    std::map<std::string, std::string> weightings;
    for (const Json& run : sweep["runs"]) {
        const std::string name = case_of(run).empty() ? value_of(run, "strategy.name") : case_of(run);
        const std::string weighting = run.value("weighting", "");
        told = told && !name.empty() && weightings.emplace(name, weighting).first->second == weighting;
        if (from_word<Weighting>(weighting) != Weighting::Uniform)
            others = true;
        else if (std::find(uniform.begin(), uniform.end(), name) == uniform.end())
            uniform.push_back(name);
    }
    if (uniform.empty() || !others) return "";
    const std::vector<std::string> keys = setting_keys(sweep);
    if (!told && std::find(keys.begin(), keys.end(), "strategy.weighting") != keys.end()) return "";
    return told ? fmt::format("Weights: {} uniform; others by examples.", fmt::join(uniform, ", "))
                : "Some runs weight clients equally, others by their examples (`strategy.weighting` in their configs).";
}

const clients::Metric& metric_of(const std::vector<RunResult>& results) {
    const auto known = std::ranges::find_if(results, [](const RunResult& one) { return one.metric != nullptr; });
    return shown_metric(known == results.end() ? nullptr : known->metric);
}

std::optional<MetricTarget> target_of(const Json& sweep) {
    for (const clients::Metric& metric : clients::metric_catalog()) {
        const auto found = sweep.find("target_" + metric.name);
        if (found != sweep.end() && found->is_number()) return MetricTarget{&metric, found->get<double>()};
    }
    return std::nullopt;
}

std::vector<Outcome> outcomes(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results) {
    const clients::Metric& main = metric_of(results);
    const std::string& metric = main.title;
    std::vector<Outcome> found{
        {"final " + metric, [](const RunResult& result) { return result.final_quality; }, 4},
        {"best " + metric, [](const RunResult& result) { return result.best_quality; }, 4},
        {"final loss", [](const RunResult& result) { return result.final_loss; }, 4},
    };
    const auto to_target = [](const RunResult& result) {
        return result.rounds_to_target ? std::optional(static_cast<double>(*result.rounds_to_target)) : std::nullopt;
    };
    if (const auto target = target_of(sweep)) {
        const std::string of_other = target->metric->name == main.name ? "" : target->metric->title + " ";
        found.push_back({fmt::format("rounds to {}{}", of_other, target->value), to_target, 1});
    }
    const std::vector<Outcome> on_clients{
        {"clients' " + metric, [](const RunResult& result) { return result.global.mean; }, 4},
        {"worst 10 % of clients", [](const RunResult& result) { return result.global.worst_10; }, 4},
        {"personalized " + metric, [](const RunResult& result) { return result.personalized.mean; }, 4},
        {"personalized, worst 10 %", [](const RunResult& result) { return result.personalized.worst_10; }, 4},
    };
    for (const Outcome& outcome : on_clients)
        if (std::any_of(results.begin(), results.end(), [&](const RunResult& one) { return outcome.of(one).has_value(); }))
            found.push_back(outcome);
    return found;
}

std::string markdown_row(const std::vector<std::string>& cells) {
    std::vector<std::string> safe;
    safe.reserve(cells.size());
    for (const std::string& cell : cells) safe.push_back(cell_text(cell));
    return fmt::format("| {} |\n", fmt::join(safe, " | "));
}

std::string markdown_head(const std::vector<std::string>& keys, const std::vector<std::string>& columns) {
    std::vector<std::string> head;
    head.reserve(keys.size() + columns.size());
    for (const std::string& key : keys) head.push_back(fmt::format("`{}`", key));
    head.insert(head.end(), columns.begin(), columns.end());
    return markdown_row(head) + markdown_row(std::vector<std::string>(head.size(), "---"));
}

}  // namespace fedhive::sim
