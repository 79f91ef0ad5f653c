// The key that switches a model's dropout on or off. Without it, models of other engines and programs can be compared exactly.
#pragma once

#include "clients/models/catalog.h"

namespace fedhive::clients {

inline KeySpec dropout_key() {
    return {.name = "dropout", .default_value = true, .doc = "true: training uses dropout; false: for exact comparisons."};
}

}  // namespace fedhive::clients
