// Two-level Dirichlet partition: each level follows its own distribution, and not the other level's.
#include "aggregation/base/error.h"
#include "clients/data/partitions/schemes.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace fedhive::clients {

namespace {

constexpr std::size_t kLabels = 200, kPerLabel = 2000, kClients = 6, kGroups = 3;

std::vector<std::int32_t> sorted_labels(std::size_t num_labels, std::size_t per_label) {
    std::vector<std::int32_t> labels(num_labels * per_label);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i / per_label);
    return labels;
}

Partition dealt(const std::vector<std::int32_t>& labels, std::size_t clients, std::size_t groups, double group_alpha,
                double alpha, std::size_t minimum, std::uint64_t seed) {
    const std::int64_t classes = labels.back() + 1;
    return partition_dirichlet_groups({labels, classes, clients, seed}, groups, group_alpha, alpha, minimum);
}

/// Shares of one label: of all examples in group 0; of group 0's examples at its first client; of group
/// 1's at its first client.
struct Shares {
    std::vector<double> of_group, of_client, of_other_client;
};

Shares drawn_shares(double group_alpha, double alpha) {
    const std::vector<std::int32_t> labels = sorted_labels(kLabels, kPerLabel);
    Shares shares;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Partition partition = dealt(labels, kClients, kGroups, group_alpha, alpha, 0, seed);
        std::vector<std::vector<std::uint64_t>> counts;
        for (std::size_t client = 0; client < kClients; ++client)
            counts.push_back(label_counts(partition.shard(client), labels, kLabels));
        for (std::size_t label = 0; label < kLabels; ++label) {
            const auto count = [&](std::size_t client) { return static_cast<double>(counts[client][label]); };
            const double group = count(0) + count(1), other = count(2) + count(3);
            shares.of_group.push_back(group / kPerLabel);
            if (group < 100 || other < 100) continue;  // too few for an estimate
            shares.of_client.push_back(count(0) / group);
            shares.of_other_client.push_back(count(2) / other);
        }
    }
    return shares;
}

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double covariance(const std::vector<double>& one, const std::vector<double>& other) {
    const double mean = mean_of(one), other_mean = mean_of(other);
    double sum = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i) sum += (one[i] - mean) * (other[i] - other_mean);
    return sum / static_cast<double>(one.size());
}

std::set<std::uint32_t> set_of(std::span<const std::uint32_t> indices) { return {indices.begin(), indices.end()}; }

}  // namespace

TEST_SUITE("PartitionDirichletGroups") {
    TEST_CASE("SharesOfGroupsAndOfClientsWithinThemAreDirichletEachByItsAlpha") {
        for (const auto& [group_alpha, alpha] : {std::pair(0.5, 4.0), {4.0, 0.5}}) {
            const Shares shares = drawn_shares(group_alpha, alpha);
            // Beta(a, 2a) of three groups, Beta(a, a) of two clients.
            CHECK(mean_of(shares.of_group) == doctest::Approx(1.0 / 3.0).epsilon(0.05));
            const double of_group = 2.0 / 9.0 / (3.0 * group_alpha + 1.0);
            CHECK(covariance(shares.of_group, shares.of_group) / of_group == doctest::Approx(1.0).epsilon(0.05));
            REQUIRE(shares.of_client.size() > 800);
            CHECK(mean_of(shares.of_client) == doctest::Approx(0.5).epsilon(0.05));
            const double variance = 0.25 / (2.0 * alpha + 1.0);
            CHECK(covariance(shares.of_client, shares.of_client) / variance == doctest::Approx(1.0).epsilon(0.05));
            // Clients of different groups are independent.
            CHECK(std::abs(covariance(shares.of_client, shares.of_other_client)) < 0.1 * variance);
        }
    }

    TEST_CASE("GroupsHaveNeighboursAndWhatOneLevelDealsThem") {
        const std::vector<std::int32_t> labels = sorted_labels(5, 60);
        const Partition partition = dealt(labels, 7, 3, 0.3, 0.7, 2, 11);
        REQUIRE(partition.num_clients() == 7);
        const Partition groups = partition_dirichlet(labels, 5, 3, 0.3, 3 * 2, 11);
        const std::size_t first[]{0, 2, 4, 7};
        for (std::size_t group = 0; group < 3; ++group) {
            std::set<std::uint32_t> together;
            for (std::size_t client = first[group]; client < first[group + 1]; ++client) {
                CHECK(partition.num_examples(client) >= 2);
                together.merge(set_of(partition.shard(client)));
            }
            CHECK(together == set_of(groups.shard(group)));
        }
        CHECK(set_of(partition.indices).size() == labels.size());
    }

    TEST_CASE("SeedDecidesBothLevels") {
        const std::vector<std::int32_t> labels = sorted_labels(5, 60);
        const Partition one = dealt(labels, 6, 2, 1.0, 1.0, 1, 3);
        CHECK(one.fingerprint() == dealt(labels, 6, 2, 1.0, 1.0, 1, 3).fingerprint());
        CHECK(one.fingerprint() != dealt(labels, 6, 2, 1.0, 1.0, 1, 4).fingerprint());
        // A single group: only the second level.
        CHECK(dealt(labels, 6, 1, 1.0, 1.0, 1, 3).fingerprint() != dealt(labels, 6, 1, 1.0, 1.0, 1, 4).fingerprint());
    }

    TEST_CASE("SchemeDealsByItsKeysAndRefusesMoreGroupsThanClients") {
        const std::vector<std::int32_t> labels = sorted_labels(5, 60);
        const PartitionScheme& scheme = partition_scheme("dirichlet_groups");
        const Values values =
            completed({{"groups", 3}, {"group_alpha", 0.3}, {"client_alpha", 0.7}, {"min_examples", 2}}, scheme.keys);
        CHECK(scheme.deal({labels, 5, 7, 11}, values).fingerprint() == dealt(labels, 7, 3, 0.3, 0.7, 2, 11).fingerprint());
        CHECK_FALSE(scheme.check(values, 3).has_value());
        const auto problem = scheme.check(values, 2);
        REQUIRE(problem.has_value());
        CHECK(problem->key == "groups");
    }

    TEST_CASE("WhatCannotBeDealtIsToldWithTheNumbers") {
        const std::vector<std::int32_t> labels = sorted_labels(2, 6);
        CHECK_THROWS_WITH_AS(dealt(labels, 4, 5, 1.0, 1.0, 1, 1), "5 groups of 4 clients; allowed: 1 to 4", ConfigError);
        CHECK_THROWS_AS(dealt(labels, 4, 2, 1.0, 1.0, 4, 1), ConfigError);
        // Each of the three groups is dealt examples for two clients, six in all, although there are five clients.
        CHECK_THROWN_MESSAGE("data", "", ConfigError, dealt(sorted_labels(1, 11), 5, 3, 1.0, 1.0, 2, 1));
        CHECK_THROWS_WITH_AS(dealt(sorted_labels(1, 5), 5, 3, 1.0, 1.0, 1, 1),
                             doctest::Contains("but only 5 examples; give all groups"), ConfigError);
        CHECK(dealt(sorted_labels(1, 11), 5, 3, 1.0, 1.0, 1, 1).num_clients() == 5);
        CHECK(dealt(sorted_labels(1, 11), 3, 3, 1.0, 1.0, 2, 1).num_clients() == 3);
        CHECK_THROWS_WITH_AS(dealt(labels, 4, 2, 0.0, 1.0, 1, 1), doctest::Contains("alpha"), ConfigError);
    }
}

}  // namespace fedhive::clients
