// Shares of clients, and whole numbers of examples made of them.
#pragma once

#include "aggregation/base/random.h"
#include "clients/data/partition.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::clients {

/// From Dirichlet(alpha, …, alpha), [clients]; their sum is 1.
std::vector<double> dirichlet_draw(std::size_t clients, double alpha, Stream& stream);

/// Whole numbers near shares * total that add up to total; ties go to the lower client.
std::vector<std::size_t> largest_remainder(std::span<const double> shares, std::size_t total);

/// A seeded permutation of all examples, dealt in order, to each client as many as its weight says, which need not be normalised; clients
/// below `min_examples` get as many, from whoever has most then. Throws ConfigError where there are not so many examples.
Partition deal_by_weights(const Deal& deal, std::vector<double> weights, std::size_t min_examples);

}  // namespace fedhive::clients
