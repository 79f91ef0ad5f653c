#include "sim/config/sweep_file.h"

#include "clients/tasks/learning_task.h"
#include "sim/config/fields.h"
#include "sim/config/load_tree.h"
#include "sim/config/reader.h"
#include "sim/config/rules.h"
#include "sim/config/run_keys.h"
#include "sim/config/scalars.h"

#include <fmt/format.h>

namespace fedhive::sim {

namespace {

constexpr const char* kShortestSweep = "the shortest sweep has `base: FILE` and `seeds: 3`";

void describe_sweep(Visitor& visitor, SweepFile& sweep) {
    visitor.field({.name = "name", .target = &sweep.name, .doc = ""});
    visitor.field({.name = "base", .target = &sweep.base, .required = true, .doc = ""});
    for (const char* block : {"set", "grid", "zip", "cases"}) visitor.other(block);
    if (sweep.root.find("random") != nullptr) {
        visitor.begin({.name = "random", .doc = ""});
        visitor.field({.name = "runs", .target = &sweep.draws, .range = between(1, kMost), .required = true, .doc = ""});
        visitor.field({.name = "seed", .target = &sweep.draw_seed, .range = at_least(0), .doc = ""});
        visitor.other("draw");
        visitor.end();
    } else {
        visitor.other("random");
    }
    visitor.other("seeds");
    visitor.field({.name = "max_runs", .target = &sweep.max_runs, .range = between(1, kMost), .doc = ""});
    for (const clients::Metric& metric : clients::metric_catalog())
        visitor.field(
            {.name = "target_" + metric.name, .target = &sweep.targets[metric.name], .range = metric.range, .doc = ""});
    EarlyStoppingConfig& stopping = sweep.early_stopping;
    visitor.begin({.name = "early_stopping", .doc = ""});
    visitor.field({.name = "rule", .target = &stopping.rule, .doc = ""});
    visitor.field({.name = "first_round", .target = &stopping.first_round, .range = between(1, kMost), .doc = ""});
    visitor.field(
        {.name = "factor",
         .target = &stopping.factor,
         .range = between(2, kMost),
         .when = Condition{word_of(stopping.rule), "rule", {word_of(StoppingRule::Halving), word_of(StoppingRule::None)}},
         .doc = ""});
    visitor.end();
}

/// Refuses a run's key beside `base`, where it would have no effect.
void refuse_run_keys(const YamlNode& root) {
    for (const YamlNode& child : root.children)
        if (child.key != "name" && child.key != "seeds" && is_run_key_or_section(child.key))
            throw sweep_error(child, child.key,
                              "is a key of a run, not of a sweep; move it below `set`, or below an axis such as `grid`");
}

void add_nested(const YamlNode& map, const std::string& prefix, std::vector<KeyNode>& to) {
    for (const YamlNode& child : map.children) {
        const std::string key = prefix + child.key;
        if (child.kind == YamlNode::Kind::Map)
            add_nested(child, key + ".", to);
        else
            to.push_back({key, &child});
    }
}

void check_keys(const std::vector<KeyNode>& keys, const std::string& path) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto& [key, node] = keys[i];
        if (key.front() == '.' || key.back() == '.' || key.find("..") != std::string::npos)
            throw sweep_error(*node, path, fmt::format("'{}' is not a key; write names with one dot between them", key));
        for (std::size_t j = 0; j < i; ++j)
            if (lies_in(key, keys[j].key) || lies_in(keys[j].key, key))
                throw sweep_error(
                    *node, fmt::format("{}.{}", path, key),
                    fmt::format("is given twice, first by {}.{} ({}); keep one", path, keys[j].key, keys[j].node->where()));
    }
}

void check_map(const YamlNode& map, const std::string& path) {
    if (map.kind != YamlNode::Kind::Map)
        throw sweep_error(map, path, fmt::format("expected keys of a config with values, found {}", found(map)));
}

}  // namespace

SweepFile read_sweep_file(const std::filesystem::path& file) {
    SweepFile sweep;
    sweep.root = read_tree(file, kShortestSweep);
    sweep.name = name_of(file);
    refuse_run_keys(sweep.root);
    read_described(sweep.root, [&](Visitor& reader) { describe_sweep(reader, sweep); });
    if (const std::string problem = name_problem(sweep.name); !problem.empty()) {
        const YamlNode* name = sweep.root.find("name");
        throw sweep_error(name != nullptr ? *name : sweep.root, "name", problem);
    }
    return sweep;
}

YamlNode read_base(const SweepFile& sweep) {
    const YamlNode& given = *sweep.root.find("base");
    // The path as short as written, since every message about the base begins with it.
    const std::filesystem::path file = (std::filesystem::path(sweep.root.origin).parent_path() / given.text).lexically_normal();
    std::error_code ignored;
    const bool there = std::filesystem::is_regular_file(file, ignored);
    YamlNode base;
    try {
        base = read_tree(file);
    } catch (const ConfigError& error) {
        if (there) throw;
        throw sweep_error(given, "base", error.what());
    }
    for (const char* key : {"base", "grid", "zip", "cases", "random", "seeds"})
        if (const YamlNode* node = base.find(key);
            node != nullptr && !(node->key == "seeds" && node->kind == YamlNode::Kind::Map))
            throw sweep_error(given, "base",
                              fmt::format("{} is itself a sweep ({}: {}); name a config", file.string(), node->where(), key));
    if (const YamlNode* set = sweep.root.find("set"))
        for (const auto& [key, node] : nested_keys(*set, "set")) graft(base, key, *node);
    return base;
}

std::vector<KeyNode> nested_keys(const YamlNode& map, const std::string& path) {
    check_map(map, path);
    std::vector<KeyNode> keys;
    add_nested(map, "", keys);
    check_keys(keys, path);
    return keys;
}

std::vector<KeyNode> direct_keys(const YamlNode& map, const std::string& path) {
    check_map(map, path);
    std::vector<KeyNode> keys;
    for (const YamlNode& child : map.children) keys.push_back({child.key, &child});
    check_keys(keys, path);
    return keys;
}

ConfigError sweep_error(const YamlNode& node, const std::string& path, const std::string& problem) {
    return ConfigError(fmt::format("{}: {}: {}", node.where(), path, problem));
}

}  // namespace fedhive::sim
