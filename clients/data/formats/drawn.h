// Common parts of formats whose examples are generated: counts and memory.
#pragma once

#include "clients/data/data_format.h"

namespace fedhive::clients {

/// Specifications of the keys num_train and num_test.
std::vector<KeySpec> counts_of_drawn();

struct DrawnCounts {
    std::size_t train = 0;
    std::size_t test = 0;
};
DrawnCounts counts_of(const Values& values);

/// Twice the memory of examples and labels, which exist twice while they are copied into the shared segment.
MemoryNeed need_of_drawn(const Values& values, const ExampleShape& shape);

}  // namespace fedhive::clients
