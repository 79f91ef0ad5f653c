#include "clients/data/dataset.h"

#include "aggregation/base/error.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
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
        changed = small();
        changed.train.type = changed.test.type = ValueType::F32;
        expect_new(changed);
        for (const std::uint32_t owner : {0U, 1U}) {
            changed = small();
            changed.train.owners = {0, owner};
            expect_new(changed);
        }
    }

    TEST_CASE("ChangesInTwoWordsDoNotCancel") {
        // A plain multiplicative hash moves the last byte of a word into the top bits only; all pairs must still differ.
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

    TEST_CASE("SharedFloatsLieWhereTheirViewsSay") {
        const auto floats = [](const std::vector<float>& values) {
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
            return std::vector<std::uint8_t>(bytes, bytes + values.size() * sizeof(float));
        };
        std::vector<float> many(23 * 3);
        for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i) / 7.0F;
        const Dataset dataset{
            .train = {{3, 1, 1}, floats(many), std::vector<std::int32_t>(23, 4), ValueType::F32},
            .test = {{3, 1, 1}, floats(std::vector<float>(90, -1.5F)), std::vector<std::int32_t>(30, 2), ValueType::F32},
            .num_classes = 5};
        const SharedDataset shared = SharedDataset::create(dataset, partition_contiguous(23, 2));
        const SharedDataset opened = SharedDataset::open(shared.descriptor(), shared.map());
        CHECK(opened.train().type == ValueType::F32);
        CHECK(opened.train().example_bytes() == 12);
        CHECK(std::ranges::equal(opened.train().values, dataset.train.values));
        CHECK(std::ranges::equal(opened.train().labels, dataset.train.labels));
        CHECK(std::ranges::equal(opened.test().values, dataset.test.values));
        CHECK(std::ranges::equal(opened.test().labels, dataset.test.labels));
        CHECK(std::ranges::equal(opened.train().example(22), std::span(dataset.train.values).last(12)));
        CHECK(opened.shard(1)[11] == 22);
    }

    TEST_CASE("PartsOfTwoTypesAreAFault") {
        Dataset dataset = small();
        dataset.test.type = ValueType::F32;
        CHECK_THROWS_WITH_AS(SharedDataset::create(dataset, partition_contiguous(2, 1)), doctest::Contains("two types"), Fault);
    }
}

}  // namespace fedhive::clients
