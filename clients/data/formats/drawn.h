// What formats that are drawn in code have in common: so many examples, of so many bytes.
#pragma once

#include "clients/data/data_format.h"

namespace fedhive::clients {

/// num_train and num_test.
std::vector<KeySpec> counts_of_drawn();

struct DrawnCounts {
    std::size_t train = 0;
    std::size_t test = 0;
};
DrawnCounts counts_of(const Values& values);

/// Examples and labels, which exist twice while they move into the shared segment.
MemoryNeed need_of_drawn(const Values& values, const ExampleShape& shape);

}  // namespace fedhive::clients
