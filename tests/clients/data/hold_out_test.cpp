#include "clients/data/hold_out.h"

#include "clients/data/shared_dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace fedhive::clients {

namespace {

/// Clients with these numbers of examples; indices descend, so that their order is not sorted order.
Partition dealt(const std::vector<std::size_t>& sizes) {
    Partition partition{{}, {0}};
    for (const std::size_t size : sizes) partition.offsets.push_back(partition.offsets.back() + size);
    partition.indices.resize(partition.offsets.back());
    std::iota(partition.indices.rbegin(), partition.indices.rend(), 0U);
    return partition;
}

std::vector<std::size_t> sizes_of(const Partition& partition) {
    std::vector<std::size_t> sizes(partition.num_clients());
    for (std::size_t client = 0; client < sizes.size(); ++client) sizes[client] = partition.num_examples(client);
    return sizes;
}

std::vector<std::uint32_t> list_of(std::span<const std::uint32_t> indices) { return {indices.begin(), indices.end()}; }

/// Positions in its shard that a client holds out.
std::vector<std::size_t> places_of(const Partition& all, const Split& split, std::size_t client) {
    std::vector<std::size_t> places;
    const auto shard = all.shard(client);
    for (const std::uint32_t index : split.held_out.shard(client))
        places.push_back(static_cast<std::size_t>(std::find(shard.begin(), shard.end(), index) - shard.begin()));
    return places;
}

}  // namespace

TEST_SUITE("HoldOut") {
    TEST_CASE("RoundedShareOfEachClientButOneAtLeastAndNeverAll") {
        const std::vector<std::size_t> sizes{1, 2, 3, 7, 8, 100};
        CHECK(sizes_of(hold_out(dealt(sizes), 0.2, 1).held_out) == std::vector<std::size_t>{0, 1, 1, 1, 2, 20});
        CHECK(sizes_of(hold_out(dealt(sizes), 0.2, 1).trained) == std::vector<std::size_t>{1, 1, 2, 6, 6, 80});
        CHECK(sizes_of(hold_out(dealt(sizes), 0.99, 1).trained) == std::vector<std::size_t>{1, 1, 1, 1, 1, 1});
        CHECK(sizes_of(hold_out(dealt(sizes), 1e-9, 1).held_out) == std::vector<std::size_t>{0, 1, 1, 1, 1, 1});
    }

    TEST_CASE("BothPartsTogetherAreWhatWasDealtInItsOrder") {
        const Partition all = dealt({40, 1, 25});
        const Split split = hold_out(all, 0.3, 7);
        for (std::size_t client = 0; client < 3; ++client) {
            const std::vector<std::uint32_t> trained = list_of(split.trained.shard(client));
            const std::vector<std::uint32_t> held_out = list_of(split.held_out.shard(client));
            // Indices descend in a shard, so both parts must descend and merge to the shard.
            std::vector<std::uint32_t> merged;
            std::merge(trained.begin(), trained.end(), held_out.begin(), held_out.end(), std::back_inserter(merged),
                       std::greater<>());
            CHECK(merged == list_of(all.shard(client)));
        }
    }

    TEST_CASE("WhichOnesFollowsFromSeedAndClientWhoeverElseThereIs") {
        const Partition all = dealt({60, 60, 60});
        const Split split = hold_out(all, 0.25, 7);
        CHECK(hold_out(all, 0.25, 7).held_out.indices == split.held_out.indices);
        CHECK(hold_out(all, 0.25, 8).held_out.indices != split.held_out.indices);
        CHECK(places_of(all, split, 1) != places_of(all, split, 0));
        const Partition others = dealt({13, 60, 90});
        CHECK(places_of(others, hold_out(others, 0.25, 7), 1) == places_of(all, split, 1));
    }

    TEST_CASE("WithoutAShareItIsThePartitionWithItsFingerprint") {
        const Partition all = dealt({5, 9});
        const Split split = hold_out(all, 0.0, 7);
        CHECK(split.trained.indices == all.indices);
        CHECK(split.trained.offsets == all.offsets);
        CHECK(sizes_of(split.held_out) == std::vector<std::size_t>{0, 0});
        CHECK(split.fingerprint() == all.fingerprint());
        // The fingerprint changes with the share; if every client has a single example it stays, since nothing is held out.
        CHECK(hold_out(all, 0.2, 7).fingerprint() != all.fingerprint());
        CHECK(hold_out(all, 0.2, 7).fingerprint() != hold_out(all, 0.4, 7).fingerprint());
        CHECK(hold_out(dealt({1, 1}), 0.2, 7).fingerprint() == dealt({1, 1}).fingerprint());
    }

    TEST_CASE("SharedSegmentHoldsBothPartsForWhoeverOpensIt") {
        const Partition all = dealt({6, 1, 10});
        const Split split = hold_out(all, 0.3, 3);
        Dataset data;
        data.train.shape = data.test.shape = {.channels = 2};
        data.num_classes = 1;
        data.train.labels.resize(17);
        data.train.values.resize(34);
        const SharedDataset shared = SharedDataset::create(data, split);
        CHECK(shared.map().num_indices == 12);
        CHECK(shared.map().num_held_out == 5);
        const SharedDataset opened = SharedDataset::open(shared.descriptor(), shared.map());
        for (std::size_t client = 0; client < 3; ++client) {
            CHECK(list_of(opened.shard(client)) == list_of(split.trained.shard(client)));
            CHECK(list_of(opened.held_out(client)) == list_of(split.held_out.shard(client)));
        }
        CHECK(SharedDataset::create(data, all).held_out(0).empty());
    }
}

}  // namespace fedhive::clients
