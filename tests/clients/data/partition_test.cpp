#include "clients/data/partitions/schemes.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>
#include <boost/math/distributions/beta.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace fedhive::clients {

namespace {

constexpr std::int64_t kClasses = 10;

/// Labels of uneven frequency in a mixed order.
std::vector<std::int32_t> mixed_labels(std::size_t size) {
    std::vector<std::int32_t> labels(size);
    Stream stream(77, Purpose::TrainData);
    for (auto& label : labels) label = static_cast<std::int32_t>(std::min(stream.below(kClasses), stream.below(kClasses)));
    return labels;
}

std::vector<std::size_t> shard_sizes(const Partition& partition) {
    std::vector<std::size_t> sizes(partition.num_clients());
    for (std::size_t client = 0; client < sizes.size(); ++client) sizes[client] = partition.num_examples(client);
    return sizes;
}

/// counts[client][label]
std::vector<std::vector<std::uint64_t>> label_histogram(const Partition& partition, std::span<const std::int32_t> labels,
                                                        std::int64_t num_classes) {
    std::vector<std::vector<std::uint64_t>> counts;
    for (std::size_t client = 0; client < partition.num_clients(); ++client)
        counts.push_back(label_counts(partition.shard(client), labels, num_classes));
    return counts;
}

/// Offsets ascend from 0 to the end, indices are in range and unique.
void check_sound(const Partition& partition, std::size_t num_examples, std::size_t clients) {
    REQUIRE(partition.offsets.size() == clients + 1);
    CHECK(partition.offsets.front() == 0);
    CHECK(partition.offsets.back() == partition.indices.size());
    CHECK(std::is_sorted(partition.offsets.begin(), partition.offsets.end()));
    std::vector<std::uint32_t> sorted = partition.indices;
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    CHECK((sorted.empty() || sorted.back() < num_examples));
}

void check_complete(const Partition& partition, std::size_t num_examples, std::size_t clients) {
    check_sound(partition, num_examples, clients);
    CHECK(partition.indices.size() == num_examples);
}

/// The same seed gives the same partition, and another seed another one unless only one is possible.
template <typename Deal>
void check_seeded(Deal deal) {
    const Partition one = deal(std::uint64_t{1});
    CHECK(one.indices == deal(std::uint64_t{1}).indices);
    CHECK(one.offsets == deal(std::uint64_t{1}).offsets);
    CHECK(one.indices != deal(std::uint64_t{2}).indices);
    CHECK(one.indices != deal(std::uint64_t{1} << 32 | 1U).indices);
}

constexpr std::size_t kOfEachLabel = 1000;

/// Shares of many labels, each dealt independently to four clients: one share per label, of each client in turn.
std::vector<double> drawn_shares(double alpha) {
    constexpr std::size_t kManyLabels = 500;
    std::vector<std::int32_t> labels(kManyLabels * kOfEachLabel);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i / kOfEachLabel);
    std::vector<double> shares;
    for (std::uint64_t seed = 0; seed < testing::draws(20); ++seed) {
        const Partition partition = partition_dirichlet(labels, kManyLabels, 4, alpha, 0, seed);
        std::vector<double> dealt(kManyLabels, 0.0);
        for (std::size_t client = 0; client < 4; ++client)
            for (const std::uint32_t index : partition.shard(client))
                if (const auto label = static_cast<std::size_t>(labels[index]); label % 4 == client)
                    dealt[label] += 1.0 / kOfEachLabel;
        shares.insert(shares.end(), dealt.begin(), dealt.end());
    }
    return shares;
}

struct Sizes {
    std::size_t examples, clients;
};

constexpr Sizes kDeals[] = {{1, 1}, {2, 1}, {2, 2}, {7, 3}, {10, 10}, {99, 10}, {100, 7}, {1000, 999}, {1003, 64}, {5000, 100}};

}  // namespace

TEST_SUITE("PartitionContiguous") {
    TEST_CASE("EveryClientHasEqualRunsAndTheLastTheRemainder") {
        for (const auto [examples, clients] : kDeals) {
            const Partition partition = partition_contiguous(examples, clients);
            check_complete(partition, examples, clients);
            CHECK(std::is_sorted(partition.indices.begin(), partition.indices.end()));
            for (std::size_t client = 0; client + 1 < clients; ++client)
                CHECK(partition.num_examples(client) == examples / clients);
            CHECK(partition.num_examples(clients - 1) == examples / clients + examples % clients);
        }
    }

    TEST_CASE("ShardsAreViewsOfTheRuns") {
        const Partition partition = partition_contiguous(7, 3);
        CHECK(std::vector(partition.shard(1).begin(), partition.shard(1).end()) == std::vector{2U, 3U});
        CHECK(std::vector(partition.shard(2).begin(), partition.shard(2).end()) == std::vector{4U, 5U, 6U});
    }

    TEST_CASE("ImpossibleRequestsAreConfigErrors") {
        CHECK_THROWS_WITH_AS(partition_contiguous(5, 6), doctest::Contains("6 clients, but only 5 examples"), ConfigError);
        CHECK_THROWS_WITH_AS(partition_contiguous(5, 0), doctest::Contains("0 clients"), ConfigError);
        CHECK_THROWS_WITH_AS(partition_contiguous(std::size_t{1} << 32, 2), doctest::Contains("4294967296 examples"),
                             ConfigError);
    }
}

TEST_SUITE("PartitionIid") {
    TEST_CASE("SizesDifferByAtMostOneAndTheFirstAreLonger") {
        for (const auto [examples, clients] : kDeals) {
            for (const std::uint64_t seed : {0U, 1U, 12345U}) {
                const Partition partition = partition_iid(examples, clients, {}, seed);
                check_complete(partition, examples, clients);
                for (std::size_t client = 0; client < clients; ++client)
                    CHECK(partition.num_examples(client) == examples / clients + (client < examples % clients ? 1 : 0));
            }
        }
    }

    TEST_CASE("SeedDecidesThePermutation") {
        check_seeded([](std::uint64_t seed) { return partition_iid(100, 7, {}, seed); });
    }

    TEST_CASE("EveryExampleReachesEveryClientUnderSomeSeed") {
        std::vector<int> first_client(20);
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            const Partition partition = partition_iid(20, 4, {}, seed);
            for (const std::uint32_t index : partition.shard(0)) ++first_client[index];
        }
        // Binomial(400, 1/4): mean 100, standard deviation 8.7.
        for (const int count : first_client) CHECK(std::abs(count - 100) < 44);
    }

    TEST_CASE("FractionsGiveTheFlooredShares") {
        CHECK(shard_sizes(partition_iid(10, 3, std::vector{0.5, 0.25, 0.19}, 1)) == std::vector<std::size_t>{5, 2, 1});
        CHECK(shard_sizes(partition_iid(100, 2, std::vector{0.29, 0.58}, 1)) == std::vector<std::size_t>{29, 58});
        CHECK(shard_sizes(partition_iid(60000, 1, std::vector{1.0}, 1)) == std::vector<std::size_t>{60000});
        const Partition tenths = partition_iid(1000, 10, std::vector(10, 0.1), 9);
        check_complete(tenths, 1000, 10);
        check_sound(partition_iid(1000, 3, std::vector{0.1, 0.2, 0.3}, 5), 1000, 3);
        CHECK(partition_iid(1000, 3, std::vector{0.1, 0.2, 0.3}, 5).indices.size() == 600);
    }

    TEST_CASE("FractionsDealTheSamePermutation") {
        const Partition equal = partition_iid(50, 2, {}, 3), half = partition_iid(50, 2, std::vector{0.5, 0.5}, 3);
        CHECK(equal.indices == half.indices);
    }

    TEST_CASE("SumJustAboveOneIsAccepted") {
        check_complete(partition_iid(1000, 2, std::vector{0.5, 0.5 + 1e-10}, 1), 1000, 2);
    }

    TEST_CASE("ImpossibleRequestsAreConfigErrors") {
        const auto deal = [](std::size_t examples, std::size_t clients, const std::vector<double>& fractions) {
            return partition_iid(examples, clients, fractions, 1);
        };
        CHECK_THROWS_WITH_AS(deal(5, 6, {}), doctest::Contains("6 clients, but only 5 examples"), ConfigError);
        CHECK_THROWS_WITH_AS(deal(5, 0, {}), doctest::Contains("0 clients"), ConfigError);
        CHECK_THROWS_WITH_AS(deal(10, 3, {0.5, 0.5}), doctest::Contains("2 fractions for 3 clients"), ConfigError);
        CHECK_THROWS_WITH_AS(deal(10, 2, {0.7, 0.4}), doctest::Contains("add up to 1.1"), ConfigError);
        CHECK_THROWS_WITH_AS(deal(10, 2, {0.7, 0.0}), doctest::Contains("fraction 0 is not above 0"), ConfigError);
        CHECK_THROWS_WITH_AS(deal(10, 2, {0.7, -0.1}), doctest::Contains("fraction -0.1 is not above 0"), ConfigError);
        CHECK_THROWS_AS(deal(10, 2, {0.7, std::nan("")}), ConfigError);
        CHECK_THROWS_WITH_AS(deal(10, 2, {0.7, 0.05}), doctest::Contains("gives client 1 no example"), ConfigError);
    }
}

TEST_SUITE("PartitionShards") {
    TEST_CASE("EveryExampleIsDealtInRunsOfTheSortedOrder") {
        for (const auto [examples, clients] : kDeals) {
            for (const std::size_t per_client : {1U, 2U, 5U}) {
                if (clients * per_client > examples) continue;
                const auto labels = mixed_labels(examples);
                const Partition partition = partition_shards(labels, clients, per_client, 3);
                check_complete(partition, examples, clients);
                const std::size_t run = examples / (clients * per_client);
                for (const std::size_t size : shard_sizes(partition)) {
                    CHECK(size >= run * per_client);
                    CHECK(size <= (run + 1) * per_client);
                }
            }
        }
    }

    TEST_CASE("OneClientGetsTheSortedRunsWithTheLongOnesLast") {
        const std::vector<std::int32_t> labels{1, 0, 1, 0, 1, 0, 1, 0};
        // Sorted: 1 3 5 7 0 2 4 6; three runs of 2, 3, 3.
        const std::vector<std::vector<std::uint32_t>> runs{{1, 3}, {5, 7, 0}, {2, 4, 6}};
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const Partition partition = partition_shards(labels, 3, 1, seed);
            std::vector<std::vector<std::uint32_t>> dealt;
            for (std::size_t client = 0; client < 3; ++client)
                dealt.emplace_back(partition.shard(client).begin(), partition.shard(client).end());
            CHECK(std::is_permutation(dealt.begin(), dealt.end(), runs.begin(), runs.end()));
        }
    }

    TEST_CASE("TwoShardsOfBalancedLabelsHoldAtMostTwoLabels") {
        std::vector<std::int32_t> labels(1000);
        for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 10);
        const auto histogram = label_histogram(partition_shards(labels, 50, 2, 8), labels, kClasses);
        for (const auto& counts : histogram) {
            CHECK(std::count_if(counts.begin(), counts.end(), [](std::uint64_t count) { return count > 0; }) <= 2);
            CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 20);
        }
    }

    TEST_CASE("SeedDecidesTheDeal") {
        const auto labels = mixed_labels(200);
        check_seeded([&](std::uint64_t seed) { return partition_shards(labels, 10, 2, seed); });
    }

    TEST_CASE("ImpossibleRequestsAreConfigErrors") {
        const auto labels = mixed_labels(10);
        CHECK_THROWS_WITH_AS(partition_shards(labels, 4, 3, 1),
                             doctest::Contains("4 clients with 3 shards each, but only 10 examples"), ConfigError);
        CHECK_THROWS_WITH_AS(partition_shards(labels, 4, 0, 1), doctest::Contains("0 shards per client"), ConfigError);
        CHECK_THROWS_WITH_AS(partition_shards(labels, 0, 1, 1), doctest::Contains("0 clients"), ConfigError);
        CHECK_THROWS_AS(partition_shards(labels, 2, std::numeric_limits<std::size_t>::max(), 1), ConfigError);
        CHECK_NOTHROW(partition_shards(labels, 5, 2, 1));
    }
}

TEST_SUITE("PartitionDirichlet") {
    TEST_CASE("EveryExampleIsDealtAndNobodyIsBelowTheMinimum") {
        for (const auto [examples, clients] : kDeals) {
            const auto labels = mixed_labels(examples);
            for (const double alpha : {5e-324, 1e-4, 0.1, 1.0, 100.0, 1e6, 1e300}) {
                for (const std::size_t minimum : {std::size_t{0}, std::size_t{1}, examples / clients}) {
                    const Partition partition = partition_dirichlet(labels, kClasses, clients, alpha, minimum, 5);
                    check_complete(partition, examples, clients);
                    CHECK(std::ranges::min(shard_sizes(partition)) >= minimum);
                }
            }
        }
    }

    TEST_CASE("ManyClientsAtTheLimitOfTheMinimumEnd") {
        const auto labels = mixed_labels(20000);
        for (const double alpha : {1e-4, 1e6}) {
            const Partition partition = partition_dirichlet(labels, kClasses, 5000, alpha, 4, 2);
            check_complete(partition, 20000, 5000);
            for (const std::size_t size : shard_sizes(partition)) CHECK(size == 4);
        }
    }

    TEST_CASE("HugeAlphaGivesEveryClientEqualSharesOfEveryLabel") {
        const auto labels = mixed_labels(4000);
        const auto histogram = label_histogram(partition_dirichlet(labels, kClasses, 8, 1e9, 0, 1), labels, kClasses);
        for (std::int32_t label = 0; label < kClasses; ++label) {
            const auto total = static_cast<double>(std::count(labels.begin(), labels.end(), label));
            for (const auto& counts : histogram)
                CHECK(std::abs(static_cast<double>(counts[static_cast<std::size_t>(label)]) - total / 8) <= 1.0);
        }
    }

    TEST_CASE("TinyAlphaGivesEachLabelToOneClient") {
        const auto labels = mixed_labels(4000);
        const auto histogram = label_histogram(partition_dirichlet(labels, kClasses, 8, 1e-4, 0, 1), labels, kClasses);
        for (std::size_t label = 0; label < kClasses; ++label) {
            std::size_t owners = 0;
            for (const auto& counts : histogram) owners += counts[label] > 0 ? 1 : 0;
            CHECK(owners == 1);
        }
    }

    TEST_CASE("OwnersUnderTinyAlphaAreSpreadOverClients") {
        const std::vector<std::int32_t> labels(10, 0);
        for (const double alpha : {1e-4, std::numeric_limits<double>::denorm_min()}) {
            std::vector<int> owned(4);
            for (std::uint64_t seed = 0; seed < 400; ++seed) {
                const Partition partition = partition_dirichlet(labels, 1, 4, alpha, 0, seed);
                for (std::size_t client = 0; client < 4; ++client)
                    owned[client] += partition.num_examples(client) == 10 ? 1 : 0;
            }
            for (const int count : owned) CHECK(std::abs(count - 100) < 44);
        }
    }

    TEST_CASE("SharesAreDistributedByAlpha") {
        // A client's share of Dirichlet(alpha) over 4 clients is Beta(alpha, 3 alpha).
        const auto distance = [](const std::vector<double>& shares, double alpha) {
            const boost::math::beta_distribution<> beta(alpha, 3.0 * alpha);
            const auto cdf = [&](double share) { return boost::math::cdf(beta, std::clamp(share, 0.0, 1.0)); };
            return testing::kolmogorov_distance(shares, cdf, 1.0 / kOfEachLabel);
        };
        for (const double alpha : {0.1, 0.5, 1.0, 5.0}) {
            CAPTURE(alpha);
            const std::vector<double> shares = drawn_shares(alpha);
            if (testing::kFewDraws) continue;
            const double bound = testing::kolmogorov_bound(shares.size());
            CHECK(distance(shares, alpha) < bound);  // and not of an alpha a quarter larger or a fifth smaller
            CHECK(distance(shares, 1.25 * alpha) > bound);
            CHECK(distance(shares, alpha / 1.25) > bound);
        }
    }

    TEST_CASE("ExampleThatIsLeftGoesToTheLargestShareWhoeverHasIt") {
        const std::vector<std::int32_t> labels{0};
        std::vector<int> owned(4);
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            const Partition partition = partition_dirichlet(labels, 1, 4, 1.0, 0, seed);
            for (std::size_t client = 0; client < 4; ++client)
                owned[client] += static_cast<int>(partition.num_examples(client));
        }
        for (const int count : owned) CHECK(std::abs(count - 100) < 44);
    }

    TEST_CASE("LabelsAreDealtIndependently") {
        const std::vector<std::int32_t> labels{0, 0, 0, 1, 1, 1};
        int together = 0;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            const auto sizes = shard_sizes(partition_dirichlet(labels, 2, 4, 1e-4, 0, seed));
            together += std::ranges::max(sizes) == 6 ? 1 : 0;
        }
        CHECK(std::abs(together - 100) < 44);
    }

    TEST_CASE("ExamplesOfALabelAreShuffled") {
        const std::vector<std::int32_t> labels(100, 0);
        const Partition partition = partition_dirichlet(labels, 1, 1, 1.0, 0, 1);
        CHECK_FALSE(std::is_sorted(partition.indices.begin(), partition.indices.end()));
    }

    TEST_CASE("SeedDecidesTheDeal") {
        const auto labels = mixed_labels(500);
        check_seeded([&](std::uint64_t seed) { return partition_dirichlet(labels, kClasses, 10, 0.3, 20, seed); });
    }

    TEST_CASE("MinimumMovesNoMoreThanItMust") {
        const auto labels = mixed_labels(1000);
        const auto without = shard_sizes(partition_dirichlet(labels, kClasses, 20, 0.1, 0, 3));
        const auto with = shard_sizes(partition_dirichlet(labels, kClasses, 20, 0.1, 10, 3));
        for (std::size_t client = 0; client < 20; ++client) {
            if (without[client] < 10) CHECK(with[client] == 10);
            if (without[client] >= 10) CHECK(with[client] <= without[client]);
        }
        CHECK(std::ranges::max(with) < std::ranges::max(without));
    }

    TEST_CASE("ImpossibleRequestsAreConfigErrors") {
        const auto labels = mixed_labels(10);
        CHECK_THROWS_WITH_AS(partition_dirichlet(labels, kClasses, 4, 1.0, 3, 1),
                             doctest::Contains("4 clients with at least 3 examples each, but only 10 examples"), ConfigError);
        CHECK_THROWS_WITH_AS(partition_dirichlet(labels, kClasses, 0, 1.0, 0, 1), doctest::Contains("0 clients"), ConfigError);
        for (const double alpha : {0.0, -1.0, std::nan(""), HUGE_VAL})
            CHECK_THROWS_WITH_AS(partition_dirichlet(labels, kClasses, 2, alpha, 0, 1), doctest::Contains("alpha"),
                                 ConfigError);
    }
}

TEST_SUITE("Fingerprint") {
    TEST_CASE("WhoHoldsWhatInWhichOrderDecidesIt") {
        const std::vector<Partition> partitions{{{1, 2, 0, 3}, {0, 2, 4}},
                                                {{2, 1, 0, 3}, {0, 2, 4}},
                                                {{1, 2, 0, 3}, {0, 1, 4}},
                                                {{1, 2, 0}, {0, 2, 3}},
                                                {{1, 2, 0, 3}, {0, 2, 4, 4}}};
        std::set<std::uint64_t> seen;
        for (const Partition& partition : partitions) CHECK(seen.insert(partition.fingerprint()).second);
        CHECK(Partition(partitions[0]).fingerprint() == partitions[0].fingerprint());
    }
}

TEST_SUITE("LabelHistogram") {
    TEST_CASE("CountsEveryLabelOfEveryClient") {
        const std::vector<std::int32_t> labels{0, 2, 2, 1, 0};
        const Partition partition{{1, 2, 0, 3, 4}, {0, 3, 5}};
        CHECK(label_histogram(partition, labels, 4) == std::vector<std::vector<std::uint64_t>>{{1, 0, 2, 0}, {1, 1, 0, 0}});
    }

    TEST_CASE("SumsToTheDealtExamples") {
        const auto labels = mixed_labels(777);
        const Partition partition = partition_dirichlet(labels, kClasses, 13, 0.5, 3, 1);
        const auto histogram = label_histogram(partition, labels, kClasses);
        for (std::size_t client = 0; client < 13; ++client)
            CHECK(std::accumulate(histogram[client].begin(), histogram[client].end(), std::size_t{0}) ==
                  partition.num_examples(client));
    }
}

}  // namespace fedhive::clients
