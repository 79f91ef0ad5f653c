// The keys of a sweep file other than its axes, and its base. Private to sim/config.
#pragma once

#include "sim/config/sweep_config.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

struct SweepFile {
    YamlNode root;
    std::string name;
    std::filesystem::path base;
    std::int64_t max_runs = 1000;
    MetricTargets targets;
    EarlyStoppingConfig early_stopping;
    std::int64_t draws = 0;       // random.runs
    std::uint64_t draw_seed = 1;  // random.seed
};

/// A key in a sweep file and the node of its value.
struct KeyNode {
    std::string key;  // dotted
    const YamlNode* node;
};

/// Throws ConfigError as load_tree, and for an unknown key. Does not read the axes.
SweepFile read_sweep_file(const std::filesystem::path& file);

/// The tree of the base with `set` applied. Throws ConfigError if there is no such file, or if it is a sweep file itself.
YamlNode read_base(const SweepFile& sweep);

/// The keys of a map, in file order; nested maps and dotted keys are equivalent. Throws ConfigError for anything but a map, and
/// for a repeated key.
std::vector<KeyNode> nested_keys(const YamlNode& map, const std::string& path);

/// The keys of a map whose values may be maps, which are not taken apart.
std::vector<KeyNode> direct_keys(const YamlNode& map, const std::string& path);

/// "sweeps/x.yaml:7: grid.rounds: <problem>".
ConfigError sweep_error(const YamlNode& node, const std::string& path, const std::string& problem);

}  // namespace fedhive::sim
