#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/schemes.h"

namespace fedhive::clients {

Partition partition_contiguous(std::size_t num_examples, std::size_t clients) {
    check_enough_examples(num_examples, clients);
    Partition partition{all_indices(num_examples), std::vector<std::uint64_t>(clients + 1)};
    for (std::size_t client = 0; client < clients; ++client) partition.offsets[client] = client * (num_examples / clients);
    partition.offsets[clients] = num_examples;
    return partition;
}

PartitionScheme contiguous() {
    return {.name = "contiguous",
            .summary = "equal consecutive parts in file order; the last client takes the remainder",
            .keys = {},
            .deal = [](const Deal& deal, const Values&) { return partition_contiguous(deal.examples, deal.clients); }};
}

}  // namespace fedhive::clients
