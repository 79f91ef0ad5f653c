// Tree -> checked config, for who makes the tree otherwise than from one file. Private to sim/config.
#pragma once

#include "sim/config/config.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

/// What load_config makes of a file, of a tree; its root's origin stands for the file. Throws as load_config.
LoadedConfig load_tree(Node root);

/// The file's name as a run's name: characters a name may not have become '_'.
std::string name_of(const std::filesystem::path& file);

}  // namespace fedhive::sim
