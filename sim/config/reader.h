// Tree -> struct: finds each described key in the tree, checks it and stores its value. Private to sim/config.
#pragma once

#include "sim/config/config.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

/// Fills `run` from the tree; keys left out keep what `run` has. Of several mistakes the one that explains the others is thrown: unknown
/// keys first, then unusable values, missing keys, keys of another choice; among equals the first in the file.
void read_fields(RunConfig& run, const Node& root, const std::filesystem::path& folder);

}  // namespace fedhive::sim
