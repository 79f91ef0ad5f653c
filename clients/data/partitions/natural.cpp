// Each client is one owner named in the data: a writer, a speaker, a hospital, a device.
#include "aggregation/base/error.h"
#include "clients/data/partitions/dealing.h"

#include <algorithm>

namespace fedhive::clients {

namespace {

/// Example indices of each owner, ascending.
std::vector<std::vector<std::uint32_t>> examples_of_owners(std::span<const std::uint32_t> owners) {
    std::vector<std::vector<std::uint32_t>> shards(1 + *std::max_element(owners.begin(), owners.end()));
    for (std::size_t i = 0; i < owners.size(); ++i) shards[owners[i]].push_back(static_cast<std::uint32_t>(i));
    return shards;
}

Partition deal_natural(const Deal& deal, const Values& values) {
    check_sizes(deal.examples, std::max<std::size_t>(1, deal.clients));
    if (deal.owners.empty())
        throw ConfigError(
            "scheme natural: the data have no owners of examples; expected: data.format npz with an array client, the owner of "
            "each training example: numpy.savez(\"FILE.npz\", x=x, y=y, client=client); csv with data.client set to a column; "
            "text; leaf; synthetic_devices; or another scheme");
    std::vector<std::vector<std::uint32_t>> shards = examples_of_owners(deal.owners);
    const std::size_t owners = shards.size();
    const std::int64_t least = values.integer("min_examples");
    std::erase_if(shards, [&](const auto& shard) { return static_cast<std::int64_t>(shard.size()) < least; });
    if (shards.empty())
        throw ConfigError(
            fmt::format("min_examples: none of the {} owners has {} examples; use a smaller number", owners, least));
    if (deal.clients != 0 && shards.size() != deal.clients)
        throw ConfigError(fmt::format(
            "clients is {}, but the data have {} owners{}; write clients: {}, or remove clients", deal.clients, owners,
            shards.size() == owners ? "" : fmt::format(", {} of them with at least {} examples", shards.size(), least),
            shards.size()));
    return joined(shards);
}

}  // namespace

PartitionScheme natural() {
    return {.name = "natural",
            .summary = "each owner in the data is a client",
            .keys = {{.name = "min_examples",
                      .default_value = std::int64_t{1},
                      .range = between(1, kMost),
                      .doc = "Owners with fewer examples are left out with their examples; each remaining owner is a client."}},
            .names_clients = true,
            .by_owner = true,
            .deal = deal_natural};
}

}  // namespace fedhive::clients
