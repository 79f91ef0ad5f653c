#include "sim/sweep/paired.h"

#include "sim/config/markdown.h"
#include "sim/sweep/interval.h"
#include "sim/sweep/run_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace fedhive::sim {

namespace {

using Json = nlohmann::ordered_json;
using Pair = std::pair<std::size_t, std::size_t>;  // a run of the setting, a run of the baseline

/// What two runs of a pair share: the seed, and those of `seeds` that the sweep varies.
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

/// Keys that apply to both groups and have different values. A key that applies to only one follows from another, as alpha from
/// the scheme.
std::vector<std::string> differing(const std::vector<std::string>& keys, const RunGroup& group, const RunGroup& base) {
    std::vector<std::string> found;
    for (std::size_t key = 0; key < keys.size(); ++key) {
        const std::string& mine = group.settings[key];
        const std::string& theirs = base.settings[key];
        if (mine != theirs && !mine.empty() && !theirs.empty()) found.push_back(keys[key]);
    }
    return found;
}

/// Without keys of a section whose name differs as well: server_lr is a part of the strategy.
std::vector<std::string> without_parts(const std::vector<std::string>& found) {
    std::vector<std::string> kept = found;
    for (const std::string& name : found)
        if (name.ends_with(".name"))
            std::erase_if(kept, [&](const std::string& key) {
                return key != name && key.starts_with(name.substr(0, name.size() - std::string("name").size()));
            });
    return kept;
}

/// The groups that differ from the first in one key. A key of a section counts with the section's name, unless another group
/// differs from the first in that name alone: then the key is varied by itself.
std::vector<const RunGroup*> near_the_first(const std::vector<std::string>& keys, const std::vector<RunGroup>& groups) {
    const auto value = [&](const RunGroup& group, const std::string& key) {
        return group.settings[static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin())];
    };
    std::set<std::pair<std::string, std::string>> alone;
    for (const RunGroup& group : groups)
        if (const auto found = differing(keys, group, groups[0]); found.size() == 1)
            alone.emplace(found[0], value(group, found[0]));
    std::vector<const RunGroup*> near;
    for (std::size_t i = 1; i < groups.size(); ++i) {
        const auto found = differing(keys, groups[i], groups[0]);
        const auto kept = without_parts(found);
        if (found.size() <= 1 || (kept.size() == 1 && !alone.contains({kept[0], value(groups[i], kept[0])})))
            near.push_back(&groups[i]);
    }
    return near;
}

/// "+0.012 ± 0.004 (2 of 3)"; "–" if no pair has the value.
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
            name += fmt::format("{}`{}` {}", name.empty() ? "" : ", ", keys[key], cell_text(group.settings[key]));
    return name;
}

}  // namespace

std::string paired_differences(const Json& sweep, const std::vector<RunResult>& results) {
    const std::vector<RunGroup> groups = group_runs(sweep);
    if (groups.size() < 2) return "";
    const std::vector<std::string> keys = setting_keys(sweep);
    std::vector<const RunGroup*> near = near_the_first(keys, groups);
    const std::size_t others = near.empty() ? 0 : groups.size() - 1 - near.size();
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
    std::vector<std::string> columns{"pairs"};
    for (const Outcome& outcome : outcomes(sweep, results)) columns.push_back(outcome.head);
    return fmt::format(
        "\n## Differences to {}\n\nBetween runs that share their seeds: mean difference ± half its 95 % interval (Student's t) "
        "over the pairs.{} Other baselines: `fedhive report --baseline`.\n\n{}{}",
        name_of(keys, groups[0]),
        others == 0 ? ""
                    : fmt::format(" {} that differ{} in more than one key {} not shown.",
                                  others == 1 ? "One setting" : fmt::format("{} settings", others), others == 1 ? "s" : "",
                                  others == 1 ? "is" : "are"),
        markdown_head(keys, columns), rows);
}

}  // namespace fedhive::sim
