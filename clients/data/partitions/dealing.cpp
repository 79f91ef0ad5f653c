#include "clients/data/partitions/dealing.h"

#include "aggregation/base/error.h"

#include <limits>
#include <numeric>

namespace fedhive::clients {

void check_sizes(std::size_t num_examples, std::size_t clients) {
    if (clients == 0) throw ConfigError("0 clients; allowed: at least 1");
    if (num_examples > std::numeric_limits<std::uint32_t>::max())
        throw ConfigError(
            fmt::format("{} examples; allowed: at most {}", num_examples, std::numeric_limits<std::uint32_t>::max()));
}

void check_enough_examples(std::size_t num_examples, std::size_t clients) {
    check_sizes(num_examples, clients);
    if (clients > num_examples)
        throw ConfigError(
            fmt::format("{} clients, but only {} examples; each client needs at least one", clients, num_examples));
}

void check_enough_examples(std::size_t num_examples, std::size_t clients, std::size_t least) {
    check_sizes(num_examples, clients);
    const std::size_t possible = num_examples / clients;
    if (least <= possible) return;
    throw ConfigError(fmt::format("{} clients with at least {} examples each, but only {} examples; {}", clients, least,
                                  num_examples,
                                  possible == 0 ? fmt::format("allowed: at most {} clients with one each", num_examples)
                                                : fmt::format("allowed: at most {} each", possible)));
}

std::vector<std::uint32_t> all_indices(std::size_t num_examples) {
    std::vector<std::uint32_t> indices(num_examples);
    std::iota(indices.begin(), indices.end(), 0U);
    return indices;
}

Partition joined(const std::vector<std::vector<std::uint32_t>>& shards) {
    Partition partition;
    partition.offsets.push_back(0);
    for (const auto& shard : shards) {
        partition.indices.insert(partition.indices.end(), shard.begin(), shard.end());
        partition.offsets.push_back(partition.indices.size());
    }
    return partition;
}

}  // namespace fedhive::clients
