// The key `shape` of formats whose examples are values in a row: what these are as an image.
#pragma once

#include "clients/data/data_format.h"

#include <optional>
#include <string>

namespace fedhive::clients {

/// Channels, height and width; left out, there is none.
KeySpec shape_key(const std::string& doc);

/// Of the key's value: another number of sides than three, no whole ones, more values than kWide.
std::optional<KeyProblem> shape_problem(const Values& values);

/// What the key says.
std::optional<ExampleShape> given_shape(const Values& values);

}  // namespace fedhive::clients
