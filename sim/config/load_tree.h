// Checked config from a tree that does not come from a single file. Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

/// As load_config, from a tree instead of a file; messages name the root's origin. Throws as load_config.
LoadedConfig load_tree(YamlNode root);

/// A run's name from the file's name: characters not allowed in a name become '_'.
std::string name_of(const std::filesystem::path& file);

}  // namespace fedhive::sim
