// The key that switches a model's dropout off, for comparisons with exact arithmetic.
#pragma once

#include "clients/models/catalog.h"

namespace fedhive::clients {

inline KeySpec dropout_key() {
    return {.name = "dropout", .default_value = true, .doc = "true: training uses dropout; false: for exact comparisons."};
}

}  // namespace fedhive::clients
