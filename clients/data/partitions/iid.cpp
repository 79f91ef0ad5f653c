#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/schemes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::clients {

namespace {

/// Number of examples per client from fractions. The tolerance makes 0.29 of 100 examples 29, although
/// 0.29 * 100 rounds to less.
std::vector<std::uint64_t> sizes_from_fractions(std::size_t num_examples, std::size_t clients,
                                                std::span<const double> fractions) {
    if (fractions.size() != clients)
        throw ConfigError(fmt::format("{} fractions for {} clients; expected: one per client", fractions.size(), clients));
    const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
    if (!(sum <= 1.0 + 1e-9)) throw ConfigError(fmt::format("the fractions add up to {}; allowed: at most 1", sum));
    std::vector<std::uint64_t> sizes;
    std::uint64_t left = num_examples;
    for (const double fraction : fractions) {
        if (!(fraction > 0.0)) throw ConfigError(fmt::format("the fraction {} is not above 0", fraction));
        const auto size = static_cast<std::uint64_t>(std::floor(fraction * static_cast<double>(num_examples) + 1e-9));
        if (size == 0)
            throw ConfigError(fmt::format("the fraction {} of {} examples gives client {} no example; allowed: at least {}",
                                          fraction, num_examples, sizes.size(), 1.0 / static_cast<double>(num_examples)));
        sizes.push_back(std::min(size, left));
        left -= sizes.back();
    }
    return sizes;
}

std::optional<KeyProblem> sizes_problem(const Values& values, std::int64_t clients) {
    const std::vector<double>& sizes = values.numbers("sizes");
    if (sizes.empty()) return {};
    if (static_cast<std::int64_t>(sizes.size()) != clients)
        return KeyProblem{"sizes", fmt::format("{} numbers for {} clients; give one per client", sizes.size(), clients)};
    const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    if (sum > 1.0 + 1e-9) return KeyProblem{"sizes", fmt::format("the fractions add up to {:.6g}; allowed: at most 1", sum)};
    return {};
}

}  // namespace

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

PartitionScheme iid() {
    return {.name = "iid",
            .summary = "a seeded shuffle",
            .keys = {{.name = "sizes",
                      .default_value = std::vector<double>{},
                      .range = fraction(),
                      .default_note = "equal sizes",
                      .doc = "Fraction of the examples for each client: one number per client, with a sum of at most 1. The "
                             "remaining examples are not used."}},
            .check = sizes_problem,
            .deal = [](const Deal& deal, const Values& values) {
                return partition_iid(deal.examples, deal.clients, values.numbers("sizes"), deal.seed);
            }};
}

}  // namespace fedhive::clients
