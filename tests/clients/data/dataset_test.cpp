#include "clients/data/dataset.h"

#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"

#include <doctest/doctest.h>

#include <set>

namespace fedhive::clients {

namespace {

Dataset small() {
    return {.train = {{1, 1, 3}, {1, 2, 3, 4, 5, 6}, {0, 1}}, .test = {{1, 1, 3}, {7, 8, 9}, {1}}, .num_classes = 2};
}

}  // namespace

TEST_SUITE("Dataset") {
    TEST_CASE("EqualContentGivesEqualFingerprints") { CHECK(small().fingerprint() == small().fingerprint()); }

    TEST_CASE("EveryByteLabelShapeAndCountChangesTheFingerprint") {
        std::set<std::uint64_t> seen{small().fingerprint()};
        const auto expect_new = [&](const Dataset& dataset) { CHECK(seen.insert(dataset.fingerprint()).second); };
        for (std::size_t i = 0; i < 6; ++i) {
            Dataset changed = small();
            changed.train.values[i] ^= 128;
            expect_new(changed);
        }
        for (const bool in_train : {true, false}) {
            Dataset changed = small();
            (in_train ? changed.train : changed.test).labels[0] ^= 1;
            expect_new(changed);
            changed = small();
            (in_train ? changed.train : changed.test).shape = {3, 1, 1};
            expect_new(changed);
        }
        Dataset changed = small();
        changed.num_classes = 3;
        expect_new(changed);
        changed = small();
        changed.test.values[2] = 0;
        expect_new(changed);
        changed = small();
        std::swap(changed.train, changed.test);
        expect_new(changed);
    }

    TEST_CASE("ChangesInTwoWordsDoNotCancel") {
        // The last byte of a word reaches only the top bits in a plain multiplication hash; all pairs must still differ.
        Dataset dataset{.train = {{1, 1, 16}, std::vector<std::uint8_t>(16), {0}}, .test = small().test, .num_classes = 2};
        std::set<std::uint64_t> seen;
        for (int first = 0; first < 256; ++first) {
            for (int second = 0; second < 256; ++second) {
                dataset.train.values[7] = static_cast<std::uint8_t>(first);
                dataset.train.values[15] = static_cast<std::uint8_t>(second);
                seen.insert(dataset.fingerprint());
            }
        }
        CHECK(seen.size() == 65536);
    }

    TEST_CASE("ExampleViewsAreConsecutive") {
        const Dataset dataset = small();
        const ExamplesView view{dataset.train.shape, dataset.train.values, dataset.train.labels};
        CHECK(view.size() == 2);
        CHECK(view.example(1).size() == 3);
        CHECK(view.example(1)[0] == 4);
    }

    TEST_CASE("MapCanCutEveryShard") {
        const Dataset whole{
            .train = {{1, 1, 1}, {1, 2, 3, 4, 5}, {0, 1, 0, 1, 0}}, .test = {{1, 1, 1}, {7}, {1}}, .num_classes = 2};
        const SharedDataset shared = SharedDataset::create(whole, partition_contiguous(5, 2));
        DatasetMap map = shared.map();
        CHECK(shared.shard(0).size() == 2);
        CHECK(shared.shard(1).size() == 3);
        map.most_of_shard = 2;
        const SharedDataset cut = SharedDataset::open(shared.descriptor(), map);
        CHECK(cut.shard(0).size() == 2);
        CHECK(cut.shard(1).size() == 2);
        CHECK(cut.shard(1)[1] == shared.shard(1)[1]);
    }
}

}  // namespace fedhive::clients
