// How the training examples are dealt to clients. Every scheme is a pure function of (labels, options, seed).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients {

/// The clients' index lists, concatenated: client k holds indices[offsets[k] .. offsets[k + 1]).
struct Partition {
    std::vector<std::uint32_t> indices;
    std::vector<std::uint64_t> offsets;  // [clients + 1]

    std::size_t num_clients() const { return offsets.size() - 1; }
    std::size_t num_examples(std::size_t client) const { return offsets[client + 1] - offsets[client]; }
    std::span<const std::uint32_t> shard(std::size_t client) const {
        return std::span(indices).subspan(offsets[client], num_examples(client));
    }
};

/// counts[client][label], for pictures and logs.
std::vector<std::vector<std::uint64_t>> label_histogram(const Partition& partition, std::span<const std::int32_t> labels,
                                                        std::int64_t num_classes);

/// Client k takes examples [k*n/K, …) in file order, floor(n/K) each; the last one also takes the remainder. K <= n.
Partition partition_contiguous(std::size_t num_examples, std::size_t clients);

/// A seeded permutation, dealt in order. Equal sizes (the first n mod K clients get one more), or by `fractions`, one per client, each
/// > 0, their sum at most 1 (+1e-9): client k gets floor(fractions[k] * n) examples, what is left is not used.
Partition partition_iid(std::size_t num_examples, std::size_t clients, std::span<const double> fractions, std::uint64_t seed);

/// Examples sorted by label (stable), cut into clients * shards_per_client equal runs (the last few longer by one where it does not
/// divide), dealt at random. Source: McMahan et al. 2017 (arXiv:1602.05629), section 3, pathological non-IID MNIST.
Partition partition_shards(std::span<const std::int32_t> labels, std::size_t clients, std::size_t shards_per_client,
                           std::uint64_t seed);

/// For each label, its examples are dealt to clients by proportions drawn from Dirichlet(alpha, …, alpha); then clients below
/// `min_examples` take examples from the largest ones, so it always ends. Every example is used. alpha > 0; clients * min_examples <= n.
/// Source: Hsu et al. 2019 (arXiv:1909.06335), in the per-label form of Yurochkin et al. 2019 (arXiv:1905.12022).
Partition partition_dirichlet(std::span<const std::int32_t> labels, std::int64_t num_classes, std::size_t clients, double alpha,
                              std::size_t min_examples, std::uint64_t seed);

}  // namespace fedhive::clients
