#include "clients/data/distributed_sampler.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace fedhive::clients {

namespace {

struct Size {
    std::size_t examples;
    std::uint32_t ranks;
};

constexpr Size kSizes[] = {{1, 1}, {12, 1}, {12, 3}, {13, 3}, {14, 3}, {7, 7}, {1000, 7}, {403, 2}, {3, 8}, {1, 5}};

/// All ranks' samples, merged in the order in which they were dealt.
std::vector<std::uint32_t> dealt(const Size& size, std::uint64_t seed, std::uint32_t epoch) {
    std::vector<std::vector<std::uint32_t>> samples;
    for (std::uint32_t rank = 0; rank < size.ranks; ++rank)
        samples.push_back(distributed_sample(size.examples, seed, epoch, {rank, size.ranks}));
    std::vector<std::uint32_t> order;
    for (std::size_t i = 0; i < samples[0].size(); ++i)
        for (const auto& sample : samples) order.push_back(sample.at(i));
    return order;
}

}  // namespace

TEST_SUITE("DistributedSampler") {
    TEST_CASE("RanksGetEquallyManyAndTogetherEveryExample") {
        for (const Size& size : kSizes) {
            std::set<std::uint32_t> seen;
            for (std::uint32_t rank = 0; rank < size.ranks; ++rank) {
                const auto sample = distributed_sample(size.examples, 1, 0, {rank, size.ranks});
                CHECK(sample.size() == (size.examples + size.ranks - 1) / size.ranks);
                seen.insert(sample.begin(), sample.end());
            }
            CHECK(seen.size() == size.examples);
            CHECK(*seen.rbegin() == size.examples - 1);
        }
    }

    TEST_CASE("PaddingIsTheListFromItsStartAndBeforeItRanksAreDisjoint") {
        for (const Size& size : kSizes) {
            const auto order = dealt(size, 1, 0);
            const std::set<std::uint32_t> first(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size.examples));
            CHECK(first.size() == size.examples);
            for (std::size_t i = size.examples; i < order.size(); ++i) CHECK(order[i] == order[i - size.examples]);
        }
    }

    TEST_CASE("MoreRanksThanExamplesRepeatTheWholeList") {
        const auto order = dealt({3, 8}, 1, 0);
        REQUIRE(order.size() == 8);
        for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == order[i % 3]);
    }

    TEST_CASE("OrderIsThatOfOneRankWhateverTheirNumber") {
        for (const Size& size : kSizes) {
            auto order = dealt(size, 4, 9);
            order.resize(size.examples);
            CHECK(order == distributed_sample(size.examples, 4, 9, {0, 1}));
        }
    }

    TEST_CASE("EpochAndSeedDecideTheOrder") {
        const auto base = distributed_sample(1000, 1, 0, {1, 3});
        CHECK(distributed_sample(1000, 1, 0, {1, 3}) == base);
        CHECK(distributed_sample(1000, 1, 1, {1, 3}) != base);
        CHECK(distributed_sample(1000, 2, 0, {1, 3}) != base);
        CHECK_FALSE(std::is_sorted(base.begin(), base.end()));
    }

    TEST_CASE("EveryExampleComesFirstInSomeEpoch") {
        std::vector<int> first(20);
        for (std::uint32_t epoch = 0; epoch < 2000; ++epoch) ++first[distributed_sample(20, 1, epoch, {0, 4})[0]];
        // Binomial(2000, 1/20): mean 100, standard deviation 9.7.
        for (const int count : first) CHECK(std::abs(count - 100) < 53);
    }

    TEST_CASE("NoExamplesOrNoSuchRankIsAFault") {
        CHECK_THROWS_WITH_AS(distributed_sample(0, 1, 0, {0, 1}), doctest::Contains("0 examples"), Fault);
        CHECK_THROWS_WITH_AS(distributed_sample(std::size_t{1} << 32, 1, 0, {0, 1}), doctest::Contains("4294967296 examples"),
                             Fault);
        CHECK_THROWS_WITH_AS(distributed_sample(5, 1, 0, {2, 2}), doctest::Contains("rank 2 of 2"), Fault);
        CHECK_THROWS_WITH_AS(distributed_sample(5, 1, 0, {0, 0}), doctest::Contains("rank 0 of 0"), Fault);
    }
}

}  // namespace fedhive::clients
