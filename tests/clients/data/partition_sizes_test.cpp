// Schemes of unequal sizes, of a label quota, and from a file.
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/partition.h"
#include "tests/support/golden_messages.h"
#include "tests/support/statistics.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

namespace fedhive::clients {

namespace {

/// Example i has the label i % classes.
std::vector<std::int32_t> even_labels(std::size_t size, std::int32_t classes) {
    std::vector<std::int32_t> labels(size);
    for (std::size_t i = 0; i < size; ++i) labels[i] = static_cast<std::int32_t>(i) % classes;
    return labels;
}

Partition dealt(const char* scheme, const Values& values, const std::vector<std::int32_t>& labels, std::size_t clients,
                std::uint64_t seed = 1, std::int64_t classes = 10) {
    const PartitionScheme& spec = partition_scheme(scheme);
    return spec.deal({labels, classes, clients, seed}, completed(values, spec.keys));
}

std::vector<std::size_t> dealt_sizes(const Partition& partition) {
    std::vector<std::size_t> sizes;
    for (std::size_t client = 0; client < partition.num_clients(); ++client) sizes.push_back(partition.num_examples(client));
    return sizes;
}

bool all_dealt_once(const Partition& partition, std::size_t examples) {
    const std::set<std::uint32_t> seen(partition.indices.begin(), partition.indices.end());
    return partition.indices.size() == examples && seen.size() == examples && *seen.rbegin() == examples - 1;
}

/// Number of distinct labels of each client.
std::vector<std::int64_t> labels_of_clients(const Partition& partition, const std::vector<std::int32_t>& labels,
                                            std::int64_t classes) {
    std::vector<std::int64_t> result;
    for (std::size_t client = 0; client < partition.num_clients(); ++client) {
        const auto counts = label_counts(partition.shard(client), labels, classes);
        result.push_back(std::ranges::count_if(counts, [](std::uint64_t count) { return count > 0; }));
    }
    return result;
}

constexpr const char* kOfSizes[] = {"dirichlet_sizes", "lognormal_sizes", "power_law_sizes"};

}  // namespace

TEST_SUITE("PartitionSizes") {
    TEST_CASE("EveryExampleIsDealtOnceAndTheMinimumHolds") {
        const auto labels = even_labels(2000, 10);
        for (const char* scheme : kOfSizes) {
            CAPTURE(scheme);
            for (const std::int64_t least : {1, 5, 20}) {
                const Partition partition = dealt(scheme, {{"min_examples", least}}, labels, 100);
                CHECK(all_dealt_once(partition, 2000));
                CHECK(std::ranges::min(dealt_sizes(partition)) >= static_cast<std::size_t>(least));
            }
            CHECK(dealt(scheme, {}, labels, 100).indices == dealt(scheme, {}, labels, 100).indices);
            CHECK(dealt(scheme, {}, labels, 100).indices != dealt(scheme, {}, labels, 100, 2).indices);
            CHECK(dealt_sizes(dealt(scheme, {}, labels, 100)) != dealt_sizes(dealt(scheme, {}, labels, 100, 2)));
            CHECK_THROWS_WITH_AS(dealt(scheme, {{"min_examples", std::int64_t{21}}}, labels, 100),
                                 doctest::Contains("allowed: at most 20 each"), ConfigError);
            CHECK_THROWS_WITH_AS(dealt(scheme, {}, labels, 2001), doctest::Contains("2001 clients, but only 2000 examples"),
                                 ConfigError);
        }
        CHECK_THROWS_WITH_AS(dealt("dirichlet", {{"min_examples", std::int64_t{1}}}, labels, 2001),
                             doctest::Contains("only 2000 examples; allowed: at most 2000 clients with one each"), ConfigError);
    }

    TEST_CASE("MinimumIsTakenOneByOneFromTheLargestTheLowerOfEquals") {
        const auto labels = even_labels(600, 10);
        std::size_t raised = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            std::vector<std::size_t> sizes = dealt_sizes(dealt("dirichlet_sizes", {{"alpha", 2.0}}, labels, 12, seed));
            for (std::size_t client = 0; client < sizes.size(); ++client) {
                for (; sizes[client] < 45; ++sizes[client], ++raised) --*std::ranges::max_element(sizes);
            }
            CHECK(dealt_sizes(dealt("dirichlet_sizes", {{"alpha", 2.0}, {"min_examples", std::int64_t{45}}}, labels, 12,
                                    seed)) == sizes);
        }
        CHECK(raised > 500);
    }

    TEST_CASE("SharesOfTheSizesAreDirichlet") {
        // A client's share of Dirichlet(alpha) over 4 clients is Beta(alpha, 3 alpha).
        constexpr std::size_t kExamples = 20'000;
        const auto labels = even_labels(kExamples, 10);
        std::vector<double> shares;
        for (std::uint64_t seed = 0; seed < testing::draws(1500); ++seed)
            shares.push_back(
                static_cast<double>(dealt("dirichlet_sizes", {{"alpha", 1.0}}, labels, 4, seed).num_examples(seed % 4)) /
                kExamples);
        if (testing::kFewDraws) return;
        const auto distance = [&](double alpha) {
            const boost::math::beta_distribution<> beta(alpha, 3.0 * alpha);
            return testing::kolmogorov_distance(
                shares, [&](double share) { return boost::math::cdf(beta, std::clamp(share, 0.0, 1.0)); }, 2.0 / kExamples);
        };
        const double bound = testing::kolmogorov_bound(shares.size());
        CHECK(distance(1.0) < bound);
        CHECK(distance(1.4) > bound);
        CHECK(distance(1.0 / 1.4) > bound);
    }

    TEST_CASE("LogarithmsOfTheSizesAreNormal") {
        // The logarithm of the quotient of two sizes is normal with deviation sigma * sqrt(2).
        const auto labels = even_labels(20'000, 10);
        std::vector<double> quotients;
        for (std::uint64_t seed = 0; seed < testing::draws(2500); ++seed) {
            const auto sizes = dealt_sizes(dealt("lognormal_sizes", {{"sigma", 0.5}}, labels, 2, seed));
            quotients.push_back(std::log(static_cast<double>(sizes[0])) - std::log(static_cast<double>(sizes[1])));
        }
        if (testing::kFewDraws) return;
        const auto distance = [&](double sigma) {
            const boost::math::normal_distribution<> normal(0.0, sigma * std::sqrt(2.0));
            return testing::kolmogorov_distance(
                quotients, [&](double value) { return boost::math::cdf(normal, value); }, 0.001);
        };
        const double bound = testing::kolmogorov_bound(quotients.size());
        CHECK(distance(0.5) < bound);
        CHECK(distance(0.6) > bound);
        CHECK(distance(0.4) > bound);
    }

    TEST_CASE("SizesFollowThePowerOfTheRank") {
        auto sizes = dealt_sizes(dealt("power_law_sizes", {{"exponent", 1.0}}, even_labels(11'000, 10), 6));
        CHECK_FALSE(std::is_sorted(sizes.rbegin(), sizes.rend()));  // ranks are drawn
        std::sort(sizes.rbegin(), sizes.rend());
        // 11,000 / (1 + 1/2 + … + 1/6) = 4489.8, and a half, a third, … of it
        CHECK(sizes == std::vector<std::size_t>{4490, 2245, 1497, 1122, 898, 748});
    }

    TEST_CASE("NeutralValuesAreEqualSizes") {
        const auto labels = even_labels(1000, 10);
        CHECK(dealt_sizes(dealt("lognormal_sizes", {{"sigma", 0.0}}, labels, 10)) == std::vector<std::size_t>(10, 100));
        CHECK(dealt_sizes(dealt("power_law_sizes", {{"exponent", 0.0}}, labels, 10)) == std::vector<std::size_t>(10, 100));
    }
}

TEST_SUITE("PartitionLabelQuota") {
    TEST_CASE("EveryClientHasSoManyLabelsInEqualParts") {
        const auto labels = even_labels(6000, 10);
        for (const std::int64_t quota : {1, 2, 3, 10}) {
            const Partition partition = dealt("label_quota", {{"labels_per_client", quota}}, labels, 30);
            CHECK(all_dealt_once(partition, 6000));
            std::vector<std::vector<std::uint64_t>> of_label(10);
            for (std::size_t client = 0; client < 30; ++client) {
                const auto counts = label_counts(partition.shard(client), labels, 10);
                CHECK(std::ranges::count_if(counts, [](std::uint64_t count) { return count > 0; }) == quota);
                for (std::size_t label = 0; label < 10; ++label)
                    if (counts[label] > 0) of_label[label].push_back(counts[label]);
            }
            for (const auto& counts : of_label) CHECK(std::ranges::max(counts) - std::ranges::min(counts) <= 1);
        }
    }

    TEST_CASE("LabelsBeyondTheFirstAreDrawn") {
        const auto labels = even_labels(1000, 10);
        // Each of 400 clients has two labels; all 45 pairs are equally likely.
        const auto many = even_labels(40'000, 10);
        const Partition partition = dealt("label_quota", {}, many, 4000);
        std::vector<std::size_t> seen(100);
        for (std::size_t client = 0; client < 4000; ++client) {
            const auto counts = label_counts(partition.shard(client), many, 10);
            const auto first =
                static_cast<std::size_t>(std::ranges::find_if(counts, [](auto n) { return n > 0; }) - counts.begin());
            const auto last =
                9 - static_cast<std::size_t>(std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; }) -
                                             counts.rbegin());
            ++seen[10 * first + last];
        }
        std::vector<std::size_t> pairs;
        for (std::size_t first = 0; first < 10; ++first)
            for (std::size_t last = first + 1; last < 10; ++last) pairs.push_back(seen[10 * first + last]);
        CHECK(std::accumulate(pairs.begin(), pairs.end(), std::size_t{0}) == 4000);
        CHECK(testing::chi_square(pairs) < testing::chi_square_bound(pairs.size()));
        CHECK(dealt("label_quota", {}, labels, 20).indices != dealt("label_quota", {}, labels, 20, 2).indices);
    }

    TEST_CASE("ExamplesOfALabelAreShuffled") {
        const auto of_seed = [](std::uint64_t seed) {
            return dealt("label_quota", {{"labels_per_client", std::int64_t{1}}}, even_labels(100, 1), 2, seed, 1).indices;
        };
        CHECK(of_seed(1) != of_seed(2));
    }

    TEST_CASE("LabelsThatNoExampleHasAreNotDealt") {
        std::vector<std::int32_t> labels = even_labels(300, 3);
        for (std::int32_t& label : labels) label = label == 0 ? 4 : label;  // only 1, 2 and 4 of 50 classes
        for (const std::int64_t quota : {1, 2, 3}) {
            const Partition partition = dealt("label_quota", {{"labels_per_client", quota}}, labels, 6, 1, 50);
            CHECK(all_dealt_once(partition, 300));
            CHECK(labels_of_clients(partition, labels, 50) == std::vector<std::int64_t>(6, quota));
        }
        CHECK_THROWN_MESSAGE("data", "", ConfigError,
                             dealt("label_quota", {{"labels_per_client", std::int64_t{4}}}, labels, 6, 1, 50));
    }

    TEST_CASE("NoMoreClientsHaveALabelThanItHasExamples") {
        Stream draw(1, Purpose::Partition, 0);
        std::size_t scarce = 0;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            const std::size_t clients = 1 + draw.below(8);
            std::vector<std::int32_t> labels;
            std::size_t places = 0;  // pairs (client, label) that the examples allow
            for (std::int32_t label = 0; label < 6; ++label) {
                const std::size_t examples = draw.below(2) == 0 ? draw.below(4) : draw.below(20);
                labels.insert(labels.end(), examples, label);
                places += std::min(examples, clients);
            }
            const auto possible = static_cast<std::int64_t>(places / clients);
            for (std::int64_t quota = 1; quota <= possible; ++quota) {
                const Partition partition = dealt("label_quota", {{"labels_per_client", quota}}, labels, clients, seed, 6);
                CHECK(labels_of_clients(partition, labels, 6) == std::vector<std::int64_t>(clients, quota));
                scarce += places < static_cast<std::size_t>(quota + 1) * clients ? 1 : 0;
            }
            if (labels.size() < clients) continue;
            CHECK_THROWS_WITH_AS(dealt("label_quota", {{"labels_per_client", possible + 1}}, labels, clients, seed, 6),
                                 doctest::Contains(fmt::format("; allowed: 1 to {}", possible).c_str()), ConfigError);
        }
        CHECK(scarce > 300);
        CHECK_THROWN_MESSAGE("data", "", ConfigError,
                             dealt("label_quota", {{"labels_per_client", std::int64_t{2}}}, {0, 0, 0, 1, 1}, 3, 1, 2));
    }

    TEST_CASE("MoreLabelsThanClassesAreRefused") {
        CHECK_THROWN_MESSAGE("data", "", ConfigError,
                             dealt("label_quota", {{"labels_per_client", std::int64_t{11}}}, even_labels(100, 10), 5));
    }
}

TEST_SUITE("PartitionFromFile") {
    TEST_CASE("ClientsHaveWhatTheFileSays") {
        const testing::TemporaryFolder folder;
        const auto file = folder.path() / "p.csv";
        std::size_t clients = 3;
        const auto read = [&](const std::string& text) {
            std::ofstream(file, std::ios::binary) << text;
            return dealt("from_file", {{"file", file}}, even_labels(6, 2), clients, 1, 2);
        };
        const Partition partition = read("client,example\r\n2,5\r\n0,1\r\n2,0\r\n1,3");
        CHECK(dealt_sizes(partition) == std::vector<std::size_t>{1, 1, 2});
        CHECK(partition.indices == std::vector<std::uint32_t>{1, 3, 5, 0});
        // Quotes, byte-order mark and line ends as spreadsheets and R write them.
        const Partition quoted = read("\xEF\xBB\xBF\"client\",\"example\"\r\n\"2\",\"5\"\r\n0, 1\r\n2,0\n\n\"1\",3\n\r\n\n");
        CHECK(quoted.fingerprint() == partition.fingerprint());
        const auto refused = [&](const std::string& text, const std::string& place) {
            CHECK_THROWN_MESSAGE("data", file.string() + place, ConfigError, read(text));
        };
        refused("", ":1: expected");
        refused("example,client\n", ":1:");
        refused("client,example\n0,1\n3,2\n", ":3: client:");
        refused("client,example\n\n0,6\n", ":3: example:");
        refused("client,example\n0,1\n1,1\n", ":3: example:");
        for (const char* row : {"0", "0,", "a,1", "0,1,", "-1,2", "\"0,1", "0\"1\",1", "99999999999999999999,1"})
            refused(std::string("client,example\n") + row + "\n", ":2:");
        clients = 0;  // the file determines the number
        CHECK(read("client,example\n2,5\n0,1\n2,0\n1,3\n").fingerprint() == partition.fingerprint());
        refused("client,example\n2,5\n0,1\n", ":");
        refused("client,example\n6,5\n", ":2: client:");
        refused("client,example\n", ":");
        std::filesystem::remove(file);
        CHECK_THROWS_WITH_AS(dealt("from_file", {{"file", file}}, even_labels(6, 2), 3, 1, 2),
                             doctest::Contains("no such file"), ConfigError);
    }
}

}  // namespace fedhive::clients
