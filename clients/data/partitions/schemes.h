// The partition schemes as functions. All throw ConfigError, with the numbers, if examples cannot be dealt so: no clients; more
// clients, shards or minimums than examples; fractions that do not fit; an alpha that is not above 0 and finite.
#pragma once

#include "clients/data/partition.h"

namespace fedhive::clients {

/// Client k of K takes the floor(n/K) examples from k * floor(n/K) on, of n in file order; the last client also takes the remainder. K <= n.
Partition partition_contiguous(std::size_t num_examples, std::size_t clients);

/// A seeded permutation of the n examples, dealt in order to K clients. K <= n.
///
/// Without `fractions`: equal sizes; the first n mod K clients get one more. With them (one per client, each > 0, sum at most
/// 1 + 1e-9): client k gets floor(fractions[k] * n + 1e-9) examples, at least 1; the rest are not used. The 1e-9 makes 0.29 of
/// 100 examples 29, although the product rounds to less.
Partition partition_iid(std::size_t num_examples, std::size_t clients, std::span<const double> fractions, std::uint64_t seed);

/// Examples sorted by label (stable), cut into clients * shards_per_client equal runs (the last ones longer by 1 if it does not
/// divide), dealt at random; a client's list is its runs in the order dealt. clients * shards_per_client <= n.
/// Source: McMahan et al. 2017 (arXiv:1602.05629), section 3, pathological non-IID MNIST.
Partition partition_shards(std::span<const std::int32_t> labels, std::size_t clients, std::size_t shards_per_client,
                           std::uint64_t seed);

/// Each label's shuffled examples are dealt by proportions from Dirichlet(alpha, …, alpha), rounded by largest remainder.
///
/// Then clients below `min_examples` take examples from the largest ones, one at a time. Every example is used. A client's list
/// goes from label to label, taken examples last. alpha > 0; clients * min_examples <= n.
/// Source: Hsu et al. 2019 (arXiv:1909.06335), in the per-label form of Yurochkin et al. 2019 (arXiv:1905.12022).
Partition partition_dirichlet(std::span<const std::int32_t> labels, std::int64_t num_classes, std::size_t clients, double alpha,
                              std::size_t min_examples, std::uint64_t seed);

/// partition_dirichlet() twice: all examples to groups with `group_alpha`, then each group's examples to its clients with
/// `alpha`. Group g of G has the clients [floor(g * clients / G), floor((g + 1) * clients / G)). 1 <= groups <= clients.
Partition partition_dirichlet_groups(const Deal& deal, std::size_t groups, double group_alpha, double alpha,
                                     std::size_t min_examples);

}  // namespace fedhive::clients
