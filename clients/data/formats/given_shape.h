// The key `shape` of formats whose examples are flat rows of values: their shape as images.
#pragma once

#include "clients/data/data_format.h"

#include <optional>
#include <string>

namespace fedhive::clients {

/// Specification of the key: channels, height and width; optional.
KeySpec shape_key(const std::string& doc);

/// Finds a value of the key that is wrong: not three sides, not whole numbers, or more values than kWide.
std::optional<KeyProblem> shape_problem(const Values& values);

/// The value of the key, if given.
std::optional<ExampleShape> given_shape(const Values& values);

}  // namespace fedhive::clients
