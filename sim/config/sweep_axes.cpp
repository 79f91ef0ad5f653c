#include "sim/config/sweep_axes.h"

#include "sim/config/fields.h"
#include "sim/config/reader.h"
#include "sim/config/run_keys.h"
#include "sim/config/scalars.h"
#include "sim/config/sweep_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace fedhive::sim {

namespace {

constexpr std::uint64_t kMostCounted = 1'000'000'000'000'000'000;

void check_list(const YamlNode& list, const std::string& path) {
    if (list.kind != YamlNode::Kind::List)
        throw sweep_error(list, path,
                          fmt::format("expected a list of values, found {}{}", found(list),
                                      is_word(list) ? fmt::format("; write [{}]", list.text) : ""));
    if (list.children.empty())
        throw sweep_error(list, path, "is an empty list, which leaves no run; write its values or remove it");
}

AxisKey key_of(const std::string& block, const KeyNode& key) { return {key.key, block + "." + key.key, key.node->where()}; }

void add_grid(const YamlNode& grid, std::vector<Axis>& axes) {
    for (const KeyNode& entry : nested_keys(grid, "grid")) {
        Axis axis{.path = "grid." + entry.key, .where = entry.node->where(), .keys = {key_of("grid", entry)}};
        check_list(*entry.node, axis.path);
        axis.size = entry.node->children.size();
        axis.option = [entry](std::uint64_t i) { return std::vector<Change>{{entry.key, entry.node->children[i]}}; };
        axes.push_back(std::move(axis));
    }
}

void add_zip(const YamlNode& zip, std::vector<Axis>& axes) {
    const std::vector<KeyNode> entries = nested_keys(zip, "zip");
    if (entries.empty()) return;
    Axis axis{.path = "zip", .where = zip.where(), .size = entries[0].node->children.size()};
    for (const KeyNode& entry : entries) {
        axis.keys.push_back(key_of("zip", entry));
        check_list(*entry.node, axis.keys.back().path);
        const std::size_t size = entry.node->children.size();
        if (size != axis.size)
            throw sweep_error(*entry.node, axis.keys.back().path,
                              fmt::format("has {} values, but {} ({}) has {}; the lists of zip must have the same length", size,
                                          axis.keys[0].path, axis.keys[0].where, axis.size));
    }
    axis.option = [entries](std::uint64_t i) {
        std::vector<Change> changes;
        changes.reserve(entries.size());
        for (const auto& [key, list] : entries) changes.push_back({key, list->children[i]});
        return changes;
    };
    axes.push_back(std::move(axis));
}

/// `name` in a case is the case's name, not the key `name` of a run: runs get names from their settings.
std::string name_of_case(const YamlNode& one, const std::string& path) {
    const YamlNode* name = one.find("name");
    if (name == nullptr) return "";
    const bool shown = std::all_of(name->text.begin(), name->text.end(), [](char c) { return c < 0 || c >= ' '; });
    if (!is_word(*name) || !shown || name->text.empty() || name->text.size() > 60)
        throw sweep_error(*name, path + ".name",
                          fmt::format("expected a name for this case, 1 to 60 characters, found {}", found(*name)));
    return name->text;
}

void add_cases(const YamlNode& cases, std::vector<Axis>& axes) {
    check_list(cases, "cases");
    Axis axis{.path = "cases", .where = cases.where(), .size = cases.children.size()};
    for (std::size_t i = 0; i < cases.children.size(); ++i) {
        const std::string path = fmt::format("cases[{}]", i);
        for (const KeyNode& entry : direct_keys(cases.children[i], path)) {
            const auto same = [&](const AxisKey& key) { return key.key == entry.key; };
            if (entry.key != "name" && std::none_of(axis.keys.begin(), axis.keys.end(), same))
                axis.keys.push_back(key_of(path, entry));
        }
        axis.names.push_back(name_of_case(cases.children[i], path));
        const auto before = std::find(axis.names.begin(), axis.names.end() - 1, axis.names.back());
        if (before != axis.names.end() - 1 && !before->empty())
            throw sweep_error(*cases.children[i].find("name"), path + ".name",
                              fmt::format("cases[{1}] is also named '{0}'; give each case its own name", *before,
                                          before - axis.names.begin()));
    }
    axis.option = [&cases](std::uint64_t i) {
        std::vector<Change> changes;
        for (const YamlNode& value : cases.children[i].children)
            if (value.key != "name") changes.push_back({value.key, value});
        return changes;
    };
    axes.push_back(std::move(axis));
}

void add_random(const SweepFile& sweep, const YamlNode& random, std::vector<Axis>& axes) {
    const YamlNode* draw = random.find("draw");
    if (draw == nullptr) throw sweep_error(random, "random.draw", "is missing; write draw: {KEY: {uniform: [low, high]}}");
    Axis axis{.path = "random", .where = random.where(), .size = static_cast<std::uint64_t>(sweep.draws), .is_random = true};
    std::vector<KeyDraw> draws;
    for (const KeyNode& entry : direct_keys(*draw, "random.draw")) {
        axis.keys.push_back(key_of("random.draw", entry));
        draws.emplace_back(entry.key, *entry.node);
    }
    if (draws.empty()) throw sweep_error(*draw, "random.draw", "has no key; write draw: {KEY: {uniform: [low, high]}}");
    axis.option = [draws, seed = sweep.draw_seed](std::uint64_t i) {
        std::vector<Change> changes;
        changes.reserve(draws.size());
        for (const KeyDraw& one : draws) changes.push_back({one.key(), one.value(seed, static_cast<std::uint32_t>(i))});
        return changes;
    };
    axes.push_back(std::move(axis));
}

/// `seeds: 5` counts up from the base's seed. The first option leaves the seed unchanged, so that an unusable one is reported
/// at its own line.
void count_seeds(const YamlNode& seeds, const YamlNode& base, Axis& axis) {
    std::int64_t count = 0;
    YamlNode root;
    root.kind = YamlNode::Kind::Map;
    root.children.push_back(seeds);
    read_described(root, [&](Visitor& reader) {
        reader.field({.name = "seeds", .target = &count, .range = between(1, kMost), .doc = ""});
    });
    std::uint64_t first = RunConfig().seed;
    if (const YamlNode* given = base.find("seed"); given != nullptr && given->kind == YamlNode::Kind::Plain)
        std::from_chars(given->text.data() + (given->text[0] == '+' ? 1 : 0), given->text.data() + given->text.size(), first);
    axis.size = static_cast<std::uint64_t>(count);
    axis.counts_on = true;
    if (first > std::numeric_limits<std::uint64_t>::max() - (axis.size - 1))
        throw sweep_error(seeds, "seeds", fmt::format("{} seeds, starting at {}, do not fit in 64 bits", count, first));
    axis.option = [&seeds, first](std::uint64_t i) {
        if (i == 0) return std::vector<Change>();
        YamlNode value = seeds;
        value.text = fmt::format("{}", first + i);
        return std::vector<Change>{{"seed", std::move(value)}};
    };
}

void add_seeds(const YamlNode& seeds, const YamlNode& base, std::vector<Axis>& axes) {
    if (seeds.kind == YamlNode::Kind::Map)
        throw sweep_error(seeds, "seeds",
                          "expected a number of seeds or a list of seeds, found a map; to set the seed of one part of a run, "
                          "write set: {seeds: {partition: 1}}; to vary it, write grid: {seeds.partition: [1, 2]}");
    Axis axis{.path = "seeds", .where = seeds.where(), .keys = {{"seed", "seeds", seeds.where()}}};
    if (seeds.kind == YamlNode::Kind::List) {
        check_list(seeds, "seeds");
        for (auto seed = seeds.children.begin(); seed != seeds.children.end(); ++seed)
            if (std::any_of(seeds.children.begin(), seed, [&](const YamlNode& other) { return other.text == seed->text; }))
                throw sweep_error(*seed, "seeds", fmt::format("{} is given twice; keep one", found(*seed)));
        axis.size = seeds.children.size();
        axis.option = [&seeds](std::uint64_t i) { return std::vector<Change>{{"seed", seeds.children[i]}}; };
    } else {
        count_seeds(seeds, base, axis);
    }
    axes.push_back(std::move(axis));
}

void add_block(const SweepFile& sweep, const YamlNode& block, std::vector<Axis>& axes) {
    if (block.key == "grid") add_grid(block, axes);
    if (block.key == "zip") add_zip(block, axes);
    if (block.key == "cases") add_cases(block, axes);
    if (block.key == "random") add_random(sweep, block, axes);
}

void check_keys(const std::vector<Axis>& axes) {
    std::vector<AxisKey> before;
    for (const Axis& axis : axes) {
        for (const AxisKey& key : axis.keys) {
            if (lies_in(key.key, "name"))
                throw ConfigError(
                    fmt::format("{}: {}: cannot vary, because a sweep names its runs by their settings", key.where, key.path));
            for (const AxisKey& other : before)
                if (lies_in(key.key, other.key) || lies_in(other.key, key.key))
                    throw ConfigError(fmt::format("{}: {}: is varied twice, first by {} ({}); keep one", key.where, key.path,
                                                  other.path, other.where));
        }
        before.insert(before.end(), axis.keys.begin(), axis.keys.end());
    }
}

}  // namespace

std::vector<Axis> axes_of(const SweepFile& sweep, const YamlNode& base) {
    std::vector<Axis> axes;
    for (const YamlNode& block : sweep.root.children) add_block(sweep, block, axes);
    if (const YamlNode* seeds = sweep.root.find("seeds")) add_seeds(*seeds, base, axes);
    if (axes.empty())
        throw ConfigError(
            sweep.root.origin +
            ": nothing varies; add grid, zip, cases, random or seeds, such as grid: {training.optimizer.lr: [0.01, 0.1]}");
    check_keys(axes);
    return axes;
}

void check_not_varied(const std::vector<Axis>& axes, const SweepFile& sweep, const std::vector<std::string>& overrides) {
    const auto check = [&](const std::string& key, const std::string& where) {
        for (const Axis& axis : axes)
            for (const AxisKey& varied : axis.keys)
                if (!axis.counts_on && (lies_in(key, varied.key) || lies_in(varied.key, key)))
                    throw ConfigError(
                        fmt::format("{}: is varied by {} ({}); change it there", where, varied.path, varied.where));
    };
    if (const YamlNode* set = sweep.root.find("set"))
        for (const auto& [key, node] : nested_keys(*set, "set")) check(key, fmt::format("{}: set.{}", node->where(), key));
    for (const std::string& assignment : overrides) {
        const std::string key = assignment.substr(0, assignment.find('='));
        check(key, fmt::format("--set {}: {}", assignment, key));
    }
}

std::uint64_t count_runs(const std::vector<Axis>& axes, const SweepFile& sweep) {
    std::uint64_t count = 1;
    std::vector<std::string> parts;
    for (const Axis& axis : axes) {
        count = count > kMostCounted / axis.size ? kMostCounted : count * axis.size;
        parts.push_back(fmt::format("{}: {}", axis.path, axis.size));
    }
    if (count <= static_cast<std::uint64_t>(sweep.max_runs)) return count;
    const YamlNode* limit = sweep.root.find("max_runs");
    throw ConfigError(fmt::format("{}: max_runs: the sweep has {} runs ({}); allowed: {}; vary fewer values, or raise max_runs",
                                  limit != nullptr ? limit->where() : sweep.root.origin,
                                  count == kMostCounted ? "1e18 or more" : fmt::format("{}", count), fmt::join(parts, ", "),
                                  sweep.max_runs));
}

}  // namespace fedhive::sim
