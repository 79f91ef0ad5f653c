// The message about images that are too small for a model's pools.
#pragma once

#include "clients/models/catalog.h"

#include <fmt/format.h>

namespace fedhive::clients {

/// The text of NamedModel::misfit for images with fewer than `side` pixels on a side; else empty.
inline std::string below(const char* model, std::int64_t side, const ExampleShape& input) {
    if (input.height >= side && input.width >= side) return "";
    return fmt::format(
        "{0} takes examples of at least {1} x {1} pixels, but the data's are {2} x {3}; for such data use mlp or lr", model,
        side, input.height, input.width);
}

}  // namespace fedhive::clients
