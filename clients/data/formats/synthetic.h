// Gaussian classes: each class has a random centre, and examples scatter around it. For tests and
// workloads of many tiny clients.
#pragma once

#include "clients/data/dataset.h"

namespace fedhive::clients {

struct SyntheticOptions {
    std::size_t num_train = 2000;
    std::size_t num_test = 500;
    std::int64_t num_classes = 10;
    std::int64_t num_features = 20;
    double separation = 2.0;  // > 0: root mean square distance of two centres, in standard deviations of the noise
};

/// Features as bytes: clamp(round(128 + 24 * x), 0, 255). Shape {num_features, 1, 1}. Classes are balanced; train and test
/// share only the centres. Throws ConfigError if a count of classes or features is below 1 or separation is not > 0.
Dataset draw_synthetic(const SyntheticOptions& options, std::uint64_t seed);

}  // namespace fedhive::clients
