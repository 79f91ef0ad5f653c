#include "sim/sweep/paired.h"

#include "sim/sweep/interval.h"
#include "sim/sweep/run_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fedhive::sim {

namespace {

using Json = nlohmann::ordered_json;
using Pair = std::pair<std::size_t, std::size_t>;  // a run of the setting, a run of the baseline

/// What two runs have to share: the seed, and those of `seeds` that the sweep varies.
std::string seeds_of(const Json& run) {
    std::string seeds = run["seed"].dump();
    for (const auto& [key, value] : run["settings"].items())
        if (key.starts_with("seeds.")) seeds += fmt::format(" {} {}", key, value.get<std::string>());
    return seeds;
}

std::vector<Pair> pairs_of(const Json& sweep, const RunGroup& group, const RunGroup& base) {
    std::vector<Pair> pairs;
    for (const std::size_t mine : group.finished)
        for (const std::size_t theirs : base.finished)
            if (seeds_of(sweep["runs"][mine]) == seeds_of(sweep["runs"][theirs])) pairs.emplace_back(mine, theirs);
    return pairs;
}

/// In how many keys that apply to both; a key that applies to one goes with another, as alpha with the scheme.
std::size_t num_differing(const RunGroup& group, const RunGroup& base) {
    std::size_t count = 0;
    for (std::size_t key = 0; key < group.settings.size(); ++key) {
        const std::string& mine = group.settings[key];
        const std::string& theirs = base.settings[key];
        if (mine != theirs && !mine.empty() && !theirs.empty()) ++count;
    }
    return count;
}

/// "+0.012 ± 0.004 (2 of 3)"; "–" where no pair has the value.
std::string difference(const std::vector<Pair>& pairs, const std::vector<RunResult>& results, const Outcome& outcome) {
    std::vector<double> values;
    for (const auto& [mine, theirs] : pairs) {
        const auto left = outcome.of(results[mine]);
        const auto right = outcome.of(results[theirs]);
        if (left && right) values.push_back(*left - *right);
    }
    if (values.empty()) return "–";
    const MeanInterval found = mean_interval(values);
    return fmt::format("{}{}{}", found.mean > 0.0 ? "+" : "", to_string(found, outcome.decimals),
                       values.size() == pairs.size() ? "" : fmt::format(" ({} of {})", values.size(), pairs.size()));
}

std::string name_of(const std::vector<std::string>& keys, const RunGroup& group) {
    std::string name;
    for (std::size_t key = 0; key < keys.size(); ++key)
        if (!group.settings[key].empty())
            name += fmt::format("{}`{}` {}", name.empty() ? "" : ", ", keys[key], escaped(group.settings[key]));
    return name;
}

}  // namespace

std::string paired_differences(const Json& sweep, const std::vector<RunResult>& results) {
    const std::vector<RunGroup> groups = group_runs(sweep);
    if (groups.size() < 2) return "";
    std::vector<const RunGroup*> near;
    for (std::size_t i = 1; i < groups.size(); ++i)
        if (num_differing(groups[i], groups[0]) <= 1) near.push_back(&groups[i]);
    if (near.empty())
        for (std::size_t i = 1; i < groups.size(); ++i) near.push_back(&groups[i]);
    std::string rows;
    std::size_t most = 0;
    for (const RunGroup* group : near) {
        const std::vector<Pair> pairs = pairs_of(sweep, *group, groups[0]);
        if (pairs.empty()) continue;
        most = std::max(most, pairs.size());
        std::vector<std::string> cells = group->settings;
        cells.push_back(fmt::format("{}", pairs.size()));
        for (const Outcome& outcome : outcomes(sweep, results)) cells.push_back(difference(pairs, results, outcome));
        rows += markdown_row(cells);
    }
    if (most < 2) return "";
    const std::vector<std::string> keys = setting_keys(sweep);
    std::vector<std::string> columns{"pairs"};
    for (const Outcome& outcome : outcomes(sweep, results)) columns.push_back(outcome.head);
    return fmt::format(
        "\n## Differences to {}\n\nBetween runs that share their seeds: mean difference ± half its 95 % interval (Student's t) "
        "over the pairs. Other baselines: `fedhive report --baseline`.\n\n{}{}",
        name_of(keys, groups[0]), markdown_head(keys, columns), rows);
}

}  // namespace fedhive::sim
