// The axes of a sweep, from the blocks of its file: each has options, and each option sets values of some keys. Private to
// sim/config.
#pragma once

#include "sim/config/sweep_file.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A value that replaces the one in the base config.
struct Change {
    std::string key;
    YamlNode value;
};

struct AxisKey {
    std::string key;
    std::string path;
    std::string where;  // "sweeps/x.yaml:7"
};

struct Axis {
    std::string path;             // "grid.training.optimizer.lr", "cases"
    std::string where;            // "sweeps/x.yaml:7"
    std::vector<AxisKey> keys{};  // in file order
    std::uint64_t size = 0;
    bool is_random = false;
    bool counts_on = false;  // seeds count on from the base's seed, which `set` and --set may change
    std::function<std::vector<Change>(std::uint64_t)> option{};  // created on demand
    std::vector<std::string> names{};                            // cases: their names in the file; empty text: no name
};

/// The axes of the file in its order, seeds last. They refer to sweep.root, which must outlive them. `base` must include all changes that apply to
/// each run. Throws ConfigError: no axis, an axis not as described in docs/sweeps.md, a key on two axes.
std::vector<Axis> axes_of(const SweepFile& sweep, const YamlNode& base);

/// Throws ConfigError if `set` or an override sets a key that an axis varies.
void check_not_varied(const std::vector<Axis>& axes, const SweepFile& sweep, const std::vector<std::string>& overrides);

/// Number of runs. Throws ConfigError if it is more than max_runs.
std::uint64_t count_runs(const std::vector<Axis>& axes, const SweepFile& sweep);

}  // namespace fedhive::sim
