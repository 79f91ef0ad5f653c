// Tree -> struct: finds each described key in the tree, checks it and stores its value. Private to sim/config.
#pragma once

#include "sim/config/config.h"
#include "sim/config/tree.h"

#include <functional>

namespace fedhive::sim {

class Visitor;

/// Mistakes that lie each in one key alone: an unknown key, an unusable value. Others come from several keys together.
struct KeyError : ConfigError {
    using ConfigError::ConfigError;
};

/// Nothing is wrong but that the mode lacks keys of its own: what does not depend on them can still be judged.
struct ModeKeysMissing : ConfigError {
    using ConfigError::ConfigError;
};

/// Fills what `description` shows from the tree; keys left out keep what they have. All mistakes are thrown as one error (mistakes.h): unknown
/// keys, unusable values, missing keys, keys of another choice; not those that follow from another one.
/// Relative paths are resolved against the folder of the file they stand in, in overrides against the current one.
void read_described(const Node& root, const std::function<void(Visitor&)>& description);

}  // namespace fedhive::sim
