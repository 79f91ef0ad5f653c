// Tree -> struct: finds each described key in the tree, checks its value and stores it. Private to sim/config.
#pragma once

#include "sim/config/run_config.h"
#include "sim/config/tree.h"

#include <functional>

namespace fedhive::sim {

class Visitor;

/// An error whose mistakes each concern a single key: it is unknown, or its value cannot be used.
struct KeyError : ConfigError {
    using ConfigError::ConfigError;
};

/// An error whose only mistake is that keys of the mode are missing. Rules that do not depend on them can still be checked.
struct ModeKeysMissing : ConfigError {
    using ConfigError::ConfigError;
};

/// Stores the values of all described keys from the tree; keys left out keep their value. Throws all mistakes as one error
/// (mistakes.h): unknown keys, unusable values, missing keys, keys of other choices; but no mistakes that follow from another
/// one. Relative paths are resolved against the folder of their file, in overrides against the current one.
void read_described(const YamlNode& root, const std::function<void(Visitor&)>& description);

}  // namespace fedhive::sim
