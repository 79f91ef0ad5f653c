#include "clients/data/root_examples.h"

#include "clients/data/formats/synthetic.h"
#include "clients/data/hold_out.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace fedhive::clients {

namespace {

std::set<std::uint32_t> as_set(std::span<const std::uint32_t> indices) { return {indices.begin(), indices.end()}; }

/// 60 examples of three labels, four owners.
struct ThreeLabels {
    std::vector<std::int32_t> labels = std::vector<std::int32_t>(60);
    std::vector<std::uint32_t> owners = std::vector<std::uint32_t>(60);
    ThreeLabels() {
        for (std::size_t i = 0; i < labels.size(); ++i) {
            labels[i] = static_cast<std::int32_t>(i % 3);
            owners[i] = static_cast<std::uint32_t>(i / 15);
        }
    }
    Deal deal() const { return {labels, 3, 4, 7, owners}; }
};

Partition dealt(const std::string& scheme, const Deal& deal, std::span<const std::uint32_t> others) {
    const PartitionScheme& spec = partition_scheme(scheme);
    return deal_others(spec, deal, completed({}, spec.keys), others);
}

}  // namespace

TEST_SUITE("RootExamples") {
    TEST_CASE("BothPartsAreAscendingAndTogetherAllExamples") {
        const RootSplit split = draw_root(60, 11, 5);
        CHECK(split.root.size() == 11);
        CHECK(std::is_sorted(split.root.begin(), split.root.end()));
        CHECK(std::is_sorted(split.others.begin(), split.others.end()));
        std::set<std::uint32_t> all = as_set(split.root);
        all.merge(as_set(split.others));
        CHECK(all.size() == 60);
        CHECK(*all.rbegin() == 59);
        CHECK(split.others.size() == 49);
        CHECK(draw_root(60, 11, 5).root == split.root);
        CHECK(draw_root(60, 11, 6).root != split.root);
    }

    TEST_CASE("EveryExampleIsDrawnAboutAsOften") {
        std::vector<int> drawn(10);
        for (std::uint64_t seed = 0; seed < 1000; ++seed)
            for (const std::uint32_t example : draw_root(10, 3, seed).root) ++drawn[example];
        for (const int times : drawn) {  // 300 expected, standard deviation 14.5
            CHECK(times > 220);
            CHECK(times < 380);
        }
    }

    TEST_CASE("NoClientHasARootExampleUnderAnyScheme") {
        const ThreeLabels examples;
        const RootSplit split = draw_root(60, 20, 3);
        const std::set<std::uint32_t> root = as_set(split.root);
        for (const PartitionScheme& scheme : partition_catalog()) {
            if (scheme.by_number) continue;  // its file names examples: refused with root examples
            CAPTURE(scheme.name);
            const Partition partition = dealt(scheme.name, examples.deal(), split.others);
            CHECK(partition.num_clients() == 4);
            CHECK_FALSE(partition.indices.empty());
            for (const std::uint32_t index : partition.indices) CHECK_FALSE(root.contains(index));
            CHECK(as_set(partition.indices).size() == partition.indices.size());
            if (!scheme.by_owner) continue;
            for (std::size_t client = 0; client < 4; ++client)
                for (const std::uint32_t index : partition.shard(client)) CHECK(examples.owners[index] == client);
        }
    }

    TEST_CASE("TheOthersAreDealtAsIfThereWereNoMore") {
        const ThreeLabels examples;
        const RootSplit split = draw_root(60, 20, 3);
        const Partition partition = dealt("contiguous", examples.deal(), split.others);
        CHECK(partition.indices == split.others);
        const Partition of_forty = partition_iid(40, 4, {}, 7);
        const Partition of_others = dealt("iid", examples.deal(), split.others);
        CHECK(of_others.offsets == of_forty.offsets);
        for (std::size_t i = 0; i < 40; ++i) CHECK(of_others.indices[i] == split.others[of_forty.indices[i]]);
    }

    TEST_CASE("TheRootClientsShardFollowsTheClientsOnAllRanksAndChangesTheFingerprint") {
        const Dataset data = draw_synthetic({60, 6, 3, 4, 1.0}, 1);
        for (const double share : {0.0, 0.25}) {
            CAPTURE(share);
            Split split = hold_out(partition_contiguous(50, 5), share, 1);
            const std::uint64_t without = split.fingerprint();
            const SharedDataset plain = SharedDataset::create(data, split);
            CHECK(plain.map().num_shards() == 5);
            CHECK_FALSE(plain.map().is_root(5));
            CHECK_THROWS_AS(plain.shard(5), Fault);
            split.root = {50, 52, 59};
            CHECK(split.fingerprint() != without);
            const SharedDataset written = SharedDataset::create(data, split);
            const SharedDataset shared = SharedDataset::open(written.descriptor(), written.map());
            CHECK(shared.map().num_clients == 5);
            CHECK(shared.map().num_shards() == 6);
            CHECK(shared.map().is_root(5));
            CHECK(std::ranges::equal(shared.shard(5), split.root));
            CHECK_THROWS_AS(shared.shard(6), Fault);
            for (std::size_t client = 0; client < 5; ++client) {
                CHECK(std::ranges::equal(shared.shard(client), plain.shard(client)));
                CHECK(std::ranges::equal(shared.held_out(client), plain.held_out(client)));
            }
        }
    }
}

}  // namespace fedhive::clients
