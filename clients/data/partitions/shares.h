// Clients' shares, and their rounding to whole numbers of examples.
#pragma once

#include "aggregation/base/random.h"
#include "clients/data/partition.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::clients {

/// A draw from Dirichlet(alpha, …, alpha), [clients]; its sum is 1.
std::vector<double> dirichlet_draw(std::size_t clients, double alpha, Stream& stream);

/// Integers near shares * total with sum `total`; ties go to the lower client.
std::vector<std::size_t> largest_remainder(std::span<const double> shares, std::size_t total);

/// A seeded permutation of all examples, dealt in order. Sizes are in proportion to `weights`, whose sum may be any number; a client with
/// fewer than `min_examples` then gets examples of the largest clients. Throws ConfigError if there are too few examples.
Partition deal_by_weights(const Deal& deal, std::vector<double> weights, std::size_t min_examples);

}  // namespace fedhive::clients
