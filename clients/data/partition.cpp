#include "clients/data/partition.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

namespace fedhive::clients {

namespace {

// What a stream of a partition is for, as its `round` key.
constexpr std::uint32_t kDeal = 0;
constexpr std::uint32_t kRepair = 1;

void check_sizes(std::size_t num_examples, std::size_t clients) {
    if (clients == 0) throw ConfigError("0 clients, at least 1 is expected");
    if (num_examples > std::numeric_limits<std::uint32_t>::max())
        throw ConfigError(
            fmt::format("{} examples, at most {} are expected", num_examples, std::numeric_limits<std::uint32_t>::max()));
}

void check_enough_examples(std::size_t num_examples, std::size_t clients) {
    check_sizes(num_examples, clients);
    if (clients > num_examples)
        throw ConfigError(
            fmt::format("{} clients, but only {} examples; give each client at least one", clients, num_examples));
}

std::vector<std::uint32_t> all_indices(std::size_t num_examples) {
    std::vector<std::uint32_t> indices(num_examples);
    std::iota(indices.begin(), indices.end(), 0U);
    return indices;
}

/// Examples of each client from fractions. The tolerance makes 0.29 of 100 examples 29, although 0.29 * 100 rounds to just below.
std::vector<std::uint64_t> sizes_from_fractions(std::size_t num_examples, std::size_t clients,
                                                std::span<const double> fractions) {
    if (fractions.size() != clients)
        throw ConfigError(fmt::format("{} fractions for {} clients, one each is expected", fractions.size(), clients));
    const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
    if (!(sum <= 1.0 + 1e-9)) throw ConfigError(fmt::format("the fractions add up to {}, at most 1 is expected", sum));
    std::vector<std::uint64_t> sizes;
    std::uint64_t left = num_examples;
    for (const double fraction : fractions) {
        if (!(fraction > 0.0)) throw ConfigError(fmt::format("the fraction {} is not above 0", fraction));
        const auto size = static_cast<std::uint64_t>(std::floor(fraction * static_cast<double>(num_examples) + 1e-9));
        if (size == 0)
            throw ConfigError(fmt::format("the fraction {} of {} examples leaves client {} without any; make it at least {}",
                                          fraction, num_examples, sizes.size(), 1.0 / static_cast<double>(num_examples)));
        sizes.push_back(std::min(size, left));
        left -= sizes.back();
    }
    return sizes;
}

/// Logarithm of a Gamma(alpha, 1) draw: for small alpha the draw itself would underflow to 0, its logarithm does not.
/// Source: Marsaglia and Tsang 2000, doi:10.1145/358407.358414, with their boost from alpha + 1 for alpha < 1.
double log_gamma_draw(double alpha, Stream& stream) {
    if (alpha < 1.0) {
        const double boosted = log_gamma_draw(alpha + 1.0, stream);
        // The bound keeps the quotient finite whatever alpha > 0 is.
        return boosted + std::log(1.0 - stream.uniform()) / std::max(alpha, 1e-300);
    }
    const double d = alpha - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
        const double x = stream.normal();
        const double root = 1.0 + c * x;
        if (root <= 0.0) continue;
        const double log_v = 3.0 * std::log(root);
        if (std::log(1.0 - stream.uniform()) < 0.5 * x * x + d * (1.0 - root * root * root + log_v)) return std::log(d) + log_v;
    }
}

std::vector<double> dirichlet_draw(std::size_t clients, double alpha, Stream& stream) {
    std::vector<double> proportions(clients);
    for (double& value : proportions) value = log_gamma_draw(alpha, stream);
    const double largest = *std::max_element(proportions.begin(), proportions.end());
    double sum = 0.0;
    for (double& value : proportions) sum += value = std::exp(value - largest);
    for (double& value : proportions) value /= sum;
    return proportions;
}

/// Whole numbers near proportions * total that add up to total; ties go to the lower client.
std::vector<std::size_t> largest_remainder(std::span<const double> proportions, std::size_t total) {
    std::vector<std::size_t> counts(proportions.size());
    std::vector<double> remainders(proportions.size());
    std::size_t left = total;
    for (std::size_t client = 0; client < counts.size(); ++client) {
        const double exact = proportions[client] * static_cast<double>(total);
        counts[client] = std::min(static_cast<std::size_t>(exact), left);
        remainders[client] = exact - std::floor(exact);
        left -= counts[client];
    }
    std::vector<std::uint32_t> order = all_indices(counts.size());
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return remainders[a] > remainders[b]; });
    for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++counts[order[i]];
    return counts;
}

using Shards = std::vector<std::vector<std::uint32_t>>;

/// Clients below the minimum take random examples, one by one, from whichever client is the largest at that moment (the lower id where
/// sizes are equal). While one is below it, another is above it, so this ends.
void raise_to_minimum(Shards& shards, std::size_t min_examples, std::uint64_t seed) {
    Stream stream(seed, Purpose::Partition, kRepair);
    const auto smaller = [&](std::uint32_t a, std::uint32_t b) {
        return shards[a].size() != shards[b].size() ? shards[a].size() < shards[b].size() : a > b;
    };
    // Only donors are in the queue, and their sizes change only while they are out of it. Its top is always above the minimum.
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(smaller)> donors(smaller);
    for (std::uint32_t client = 0; client < shards.size(); ++client)
        if (shards[client].size() > min_examples) donors.push(client);
    for (auto& taker : shards) {
        while (taker.size() < min_examples) {
            const std::uint32_t largest = donors.top();
            donors.pop();
            auto& donor = shards[largest];
            const auto taken = donor.begin() + static_cast<std::ptrdiff_t>(stream.below(donor.size()));
            taker.push_back(*taken);
            *taken = donor.back();
            donor.pop_back();
            donors.push(largest);
        }
    }
}

Partition joined(const Shards& shards) {
    Partition partition;
    partition.offsets.push_back(0);
    for (const auto& shard : shards) {
        partition.indices.insert(partition.indices.end(), shard.begin(), shard.end());
        partition.offsets.push_back(partition.indices.size());
    }
    return partition;
}

}  // namespace

std::vector<std::uint64_t> label_counts(std::span<const std::uint32_t> shard, std::span<const std::int32_t> labels,
                                        std::int64_t num_classes) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(num_classes));
    for (const std::uint32_t index : shard) ++counts.at(static_cast<std::size_t>(labels[index]));
    return counts;
}

Partition partition_contiguous(std::size_t num_examples, std::size_t clients) {
    check_enough_examples(num_examples, clients);
    Partition partition{all_indices(num_examples), std::vector<std::uint64_t>(clients + 1)};
    for (std::size_t client = 0; client < clients; ++client) partition.offsets[client] = client * (num_examples / clients);
    partition.offsets[clients] = num_examples;
    return partition;
}

Partition partition_iid(std::size_t num_examples, std::size_t clients, std::span<const double> fractions, std::uint64_t seed) {
    check_enough_examples(num_examples, clients);
    std::vector<std::uint64_t> sizes(clients, num_examples / clients);
    for (std::size_t client = 0; client < num_examples % clients; ++client) ++sizes[client];
    if (!fractions.empty()) sizes = sizes_from_fractions(num_examples, clients, fractions);

    Partition partition{all_indices(num_examples), std::vector<std::uint64_t>(clients + 1)};
    Stream stream(seed, Purpose::Partition, kDeal);
    shuffle(std::span(partition.indices), stream);
    std::partial_sum(sizes.begin(), sizes.end(), partition.offsets.begin() + 1);
    partition.indices.resize(partition.offsets.back());
    return partition;
}

Partition partition_shards(std::span<const std::int32_t> labels, std::size_t clients, std::size_t shards_per_client,
                           std::uint64_t seed) {
    check_sizes(labels.size(), clients);
    if (shards_per_client == 0) throw ConfigError("0 shards per client, at least 1 is expected");
    if (shards_per_client > labels.size() / clients)
        throw ConfigError(fmt::format("{} clients with {} shards each, but only {} examples; every shard needs at least one",
                                      clients, shards_per_client, labels.size()));
    std::vector<std::uint32_t> sorted = all_indices(labels.size());
    std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return labels[a] < labels[b]; });

    const std::size_t num_shards = clients * shards_per_client;
    const std::size_t size = labels.size() / num_shards;
    const std::size_t num_short = num_shards - labels.size() % num_shards;  // the ones after them are longer by one
    std::vector<std::uint32_t> order = all_indices(num_shards);
    Stream stream(seed, Purpose::Partition, kDeal);
    shuffle(std::span(order), stream);

    Shards shards(clients);
    for (std::size_t dealt = 0; dealt < num_shards; ++dealt) {
        const std::size_t run = order[dealt];
        const std::size_t begin = run * size + (run > num_short ? run - num_short : 0);
        const std::size_t end = begin + size + (run >= num_short ? 1 : 0);
        auto& shard = shards[dealt / shards_per_client];
        shard.insert(shard.end(), sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                     sorted.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return joined(shards);
}

Partition partition_dirichlet(std::span<const std::int32_t> labels, std::int64_t num_classes, std::size_t clients, double alpha,
                              std::size_t min_examples, std::uint64_t seed) {
    check_sizes(labels.size(), clients);
    if (!(alpha > 0.0) || !std::isfinite(alpha)) throw ConfigError(fmt::format("alpha {} is not above 0 and finite", alpha));
    if (min_examples > labels.size() / clients)
        throw ConfigError(
            fmt::format("{} clients with at least {} examples each, but only {} examples; at most {} each are "
                        "possible",
                        clients, min_examples, labels.size(), labels.size() / clients));
    std::vector<std::vector<std::uint32_t>> by_label(static_cast<std::size_t>(num_classes));
    for (std::size_t i = 0; i < labels.size(); ++i)
        by_label.at(static_cast<std::size_t>(labels[i])).push_back(static_cast<std::uint32_t>(i));

    Shards shards(clients);
    for (std::size_t label = 0; label < by_label.size(); ++label) {
        Stream stream(seed, Purpose::Partition, kDeal, static_cast<std::uint32_t>(label));
        auto& examples = by_label[label];
        const auto counts = largest_remainder(dirichlet_draw(clients, alpha, stream), examples.size());
        shuffle(std::span(examples), stream);
        auto next = examples.begin();
        for (std::size_t client = 0; client < clients; ++client) {
            const auto end = next + static_cast<std::ptrdiff_t>(counts[client]);
            shards[client].insert(shards[client].end(), next, end);
            next = end;
        }
    }
    raise_to_minimum(shards, min_examples, seed);
    return joined(shards);
}

}  // namespace fedhive::clients
