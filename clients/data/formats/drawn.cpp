#include "clients/data/formats/drawn.h"

#include <fmt/format.h>

namespace fedhive::clients {

std::vector<KeySpec> counts_of_drawn() {
    return {{.name = "num_train",
             .default_value = std::int64_t{6000},
             .range = between(1, kMost),
             .doc = "Number of training examples to generate, for all clients together."},
            {.name = "num_test",
             .default_value = std::int64_t{1000},
             .range = between(1, kMost),
             .doc = "Number of test examples to generate."}};
}

DrawnCounts counts_of(const Values& values) {
    return {static_cast<std::size_t>(values.integer("num_train")), static_cast<std::size_t>(values.integer("num_test"))};
}

MemoryNeed need_of_drawn(const Values& values, const ExampleShape& shape) {
    const DrawnCounts counts = counts_of(values);
    const std::size_t examples = counts.train + counts.test;
    return {fmt::format("{} examples", examples),
            2.0 * static_cast<double>(examples) * static_cast<double>(shape.num_values() + sizeof(std::int32_t))};
}

}  // namespace fedhive::clients
