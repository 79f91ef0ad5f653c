// Changes of keys that follow from the strategy: keys of a strategy that --set replaces are removed, and some defaults depend on the strategy.
// Each change is a line for the screen. Private to sim/config.
#pragma once

#include "sim/config/run_config.h"
#include "sim/config/tree.h"

#include <functional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// If --set or a sweep names another strategy than the file, removes the other keys of the file's section `strategy`, since they belong to the
/// file's strategy; keys that --set or the sweep gives stay. Returns a line that names the removed keys, or "".
std::string leave_former_keys(YamlNode& root);

/// Sets keys that the strategy needs and the config does not give (`gives(section, key)` is false); returns a line for each. All other keys
/// of `run` must be set.
///   strategy.option 1      with local rule scaffold, where clients do not take plain SGD steps
///   data.root_examples     100 with an aggregator that needs them (Cao et al. 2021, arXiv:2012.13995)
///   upload                 [{name: clip, norm: 1}] with server dp_ftrl
std::vector<std::string> take_implied(RunConfig& run,
                                      const std::function<bool(const std::string& section, const std::string& key)>& gives);

}  // namespace fedhive::sim
