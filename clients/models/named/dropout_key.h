// The key that switches a model's dropout off, for comparisons with exact arithmetic.
#pragma once

#include "clients/models/catalog.h"

namespace fedhive::clients {

inline KeySpec dropout_key() {
    return {.name = "dropout",
            .default_value = true,
            .doc = "Whether training drops activations; false for comparisons with exact arithmetic."};
}

}  // namespace fedhive::clients
