#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/schemes.h"

#include <algorithm>

namespace fedhive::clients {

Partition partition_shards(std::span<const std::int32_t> labels, std::size_t clients, std::size_t shards_per_client,
                           std::uint64_t seed) {
    check_sizes(labels.size(), clients);
    if (shards_per_client == 0) throw ConfigError("0 shards per client; allowed: at least 1");
    if (shards_per_client > labels.size() / clients)
        throw ConfigError(fmt::format("{} clients with {} shards each, but only {} examples; every shard needs at least one",
                                      clients, shards_per_client, labels.size()));
    std::vector<std::uint32_t> sorted = all_indices(labels.size());
    std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return labels[a] < labels[b]; });

    const std::size_t num_shards = clients * shards_per_client;
    const std::size_t size = labels.size() / num_shards;
    const std::size_t num_short = num_shards - labels.size() % num_shards;  // the runs from this index on are longer by 1
    std::vector<std::uint32_t> order = all_indices(num_shards);
    Stream stream(seed, Purpose::Partition, kDeal);
    shuffle(std::span(order), stream);

    std::vector<std::vector<std::uint32_t>> shards(clients);
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

PartitionScheme shards() {
    return {.name = "shards",
            .summary = "few labels per client (arXiv:1602.05629)",
            .keys = {{.name = "shards_per_client",
                      .default_value = std::int64_t{2},
                      .range = between(1, kMost),
                      .doc = "Number of shards, consecutive parts of the label-sorted examples, that each client gets; 2 is "
                             "the paper's pathological split."}},
            .by_label = true,
            .deal = [](const Deal& deal, const Values& values) {
                const auto each = static_cast<std::size_t>(values.integer("shards_per_client"));
                return partition_shards(deal.labels, deal.clients, each, deal.seed);
            }};
}

}  // namespace fedhive::clients
