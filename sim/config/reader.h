// Tree -> struct: finds each described key in the tree, checks it and stores its value. Private to sim/config.
#pragma once

#include "sim/config/config.h"
#include "sim/config/tree.h"

#include <functional>

namespace fedhive::sim {

class Visitor;

/// A mistake that lies in one key alone: an unknown key, an unusable value. Others come from several keys together.
struct KeyError : ConfigError {
    using ConfigError::ConfigError;
};

/// Fills what `description` shows from the tree; keys left out keep what they have. Of several mistakes the one that explains the others is
/// thrown: unknown keys first, then unusable values (KeyError), missing keys, keys of another choice; among equals the first in the file.
/// Relative paths are resolved against the folder of the file they stand in, in overrides against the current one.
void read_described(const Node& root, const std::function<void(Visitor&)>& description);

/// The node in a message: "'fast'", "a list", "nothing".
std::string found(const Node& node);

}  // namespace fedhive::sim
