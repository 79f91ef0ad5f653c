// Gaussian classes: class c has a random centre, examples scatter around it. For tests, and for workloads with many tiny clients.
#pragma once

#include "clients/data/dataset.h"

namespace fedhive::clients {

struct SyntheticOptions {
    std::size_t num_train = 2000;
    std::size_t num_test = 500;
    std::int64_t num_classes = 10;
    std::int64_t num_features = 20;
    double separation = 2.0;  // typical (root mean square) distance of two centres, in standard deviations of the noise, > 0
};

/// Features are stored as bytes: clamp(round(128 + 24 * x), 0, 255). Shape {num_features, 1, 1}. Classes are balanced; train and test share
/// the centres and nothing else. Throws ConfigError when a count of classes or features is below 1 or separation is not > 0.
Dataset draw_synthetic(const SyntheticOptions& options, std::uint64_t seed);

}  // namespace fedhive::clients
