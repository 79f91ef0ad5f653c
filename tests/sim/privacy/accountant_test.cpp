// The accountant beside numbers of other programs (tests/golden/privacy_epsilon.py), and the noise that it finds for an ε.
#include "sim/privacy/accountant.h"

#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace fedhive::sim;

namespace {

/// The rows of a file below its first line, which says where they come from, and its header.
std::vector<std::vector<double>> rows_of(const std::string& file) {
    std::ifstream stream(fedhive::testing::source_folder() / "tests/golden" / file);
    std::vector<std::vector<double>> rows;
    std::string line;
    std::getline(stream, line);
    std::getline(stream, line);
    while (std::getline(stream, line)) {
        std::istringstream cells(line);
        rows.emplace_back();
        for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(std::stod(cell));
    }
    return rows;
}

/// The sum of section 3.3 of arXiv:1908.10530, for a whole order.
double rdp_by_sum(double q, double z, int order) {
    double a = 0.0, choose = 1.0;
    for (int k = 0; k <= order; ++k) {
        a += choose * std::pow(1.0 - q, order - k) * std::pow(q, k) * std::exp((k * k - k) / (2.0 * z * z));
        choose = choose * (order - k) / (k + 1);
    }
    return std::log(a) / (order - 1);
}

double epsilon(double share, double multiplier, double rounds, double delta) {
    return PrivacyAccountant({share, multiplier}, delta).epsilon(static_cast<std::uint64_t>(rounds));
}

}  // namespace

TEST_SUITE("Accountant") {
    TEST_CASE("RdpIsThatOfTheDefinition") {
        const auto rows = rows_of("privacy_rdp.csv");
        REQUIRE(rows.size() == 50);
        for (const auto& row : rows) {
            CAPTURE(row[0]);
            CAPTURE(row[1]);
            CAPTURE(row[2]);
            CHECK(rdp({row[0], row[1]}, row[2]) == doctest::Approx(row[3]).epsilon(1e-8).scale(0.0));
        }
    }

    TEST_CASE("RdpOfWholeOrdersIsTheFiniteSum") {
        for (const double q : {0.01, 0.2, 0.7})
            for (const double z : {0.6, 1.0, 3.0})
                for (const int order : {2, 3, 5, 12}) {
                    CAPTURE(q);
                    CAPTURE(z);
                    CAPTURE(order);
                    CHECK(rdp({q, z}, order) == doctest::Approx(rdp_by_sum(q, z, order)).epsilon(1e-9).scale(0.0));
                }
        CHECK(rdp({1.0, 2.0}, 5.0) == 5.0 / 8.0);
    }

    TEST_CASE("EpsilonIsThatOfDpAccounting") {
        const auto rows = rows_of("privacy_epsilon.csv");
        REQUIRE(rows.size() >= 20);
        for (const auto& row : rows) {
            CAPTURE(row[0]);
            CAPTURE(row[1]);
            CAPTURE(row[2]);
            CAPTURE(row[3]);
            CAPTURE(row[4]);
            const double ours = epsilon(row[0], row[1], row[2], row[3]);
            CHECK(ours <= row[4] * (1.0 + 1e-9));  // theirs is an upper bound at orders that are fractions
            CHECK(ours >= row[4] * 0.99);
        }
    }

    TEST_CASE("NothingIsLostBeforeTheFirstStepOrByNextToNothing") {
        CHECK(epsilon(0.1, 1.0, 0, 1e-5) == 0.0);
        CHECK(epsilon(1e-6, 1000.0, 1, 1e-3) == 0.0);
        CHECK(epsilon(0.1, 1.0, 1, 1e-5) > 0.0);
    }

    TEST_CASE("MoreStepsCostMoreAndMoreNoiseOrFewerClientsCostLess") {
        double before = 0.0;
        for (const double rounds : {1.0, 10.0, 100.0, 1000.0}) {
            const double now = epsilon(0.05, 1.0, rounds, 1e-6);
            CHECK(now > before);
            CHECK(epsilon(0.05, 1.1, rounds, 1e-6) < now);
            CHECK(epsilon(0.04, 1.0, rounds, 1e-6) < now);
            CHECK(epsilon(0.05, 1.0, rounds, 1e-5) < now);
            before = now;
        }
    }

    TEST_CASE("MultiplierForAnEpsilonIsTheLeastThatGivesIt") {
        for (const double target : {0.2, 1.0, 8.0, 50.0})
            for (const double share : {0.01, 0.1, 1.0}) {
                CAPTURE(target);
                CAPTURE(share);
                const std::optional<double> found = multiplier_for(target, 1e-5, share, 100);
                REQUIRE(found);
                CHECK(epsilon(share, *found, 100, 1e-5) <= target * (1.0 + 1e-9));
                CHECK(epsilon(share, *found - 0.0001, 100, 1e-5) > target);
                CHECK(std::llround(*found * 1e4) == doctest::Approx(*found * 1e4).epsilon(1e-12));
            }
        CHECK_FALSE(multiplier_for(0.001, 1e-5, 1.0, 1000000000));
        const double least = least_epsilon(1e-5, 1.0, 1000000);
        CHECK(multiplier_for(least, 1e-5, 1.0, 1000000));
        CHECK_FALSE(multiplier_for(least - 0.0002, 1e-5, 1.0, 1000000));
        CHECK(multiplier_for(1e9, 1e-5, 0.5, 1) == kLeastMultiplier);
    }

    TEST_CASE("OrdersAscendAboveOne") {
        const auto orders = rdp_orders();
        CHECK(orders.front() > 1.01);
        CHECK(std::ranges::is_sorted(orders));
        CHECK(std::ranges::adjacent_find(orders) == orders.end());
    }

    TEST_CASE("SumBesideACountCostsAsMuchAsOneOfTheMultiplierAlone") {
        for (const double z : {0.5, 1.0, 4.0})
            for (const double count_noise : {0.51 * z, z, 10.0 * z}) {
                const double sum = multiplier_beside_count(z, count_noise).value();
                CHECK(sum > z);
                CHECK(rdp({1.0, sum}, 3.0) + rdp({1.0, 2.0 * count_noise}, 3.0) ==
                      doctest::Approx(rdp({1.0, z}, 3.0)).epsilon(1e-12));
            }
        CHECK_FALSE(multiplier_beside_count(1.0, 0.5).has_value());
        CHECK_FALSE(multiplier_beside_count(1.0, 0.0).has_value());
    }

    TEST_CASE("EpsilonOfTreesIsThatOfDpAccounting") {
        const auto rows = rows_of("privacy_tree.csv");
        REQUIRE(rows.size() >= 12);
        for (const auto& row : rows) {
            CAPTURE(row[0]);
            CAPTURE(row[1]);
            CAPTURE(row[2]);
            const auto every = static_cast<std::uint64_t>(row[1]), trees = static_cast<std::uint64_t>(row[2]);
            const PrivacyAccountant accountant({1.0, row[0]}, row[3]);
            CHECK(accountant.epsilon(tree_nodes(every * trees, every)) == doctest::Approx(row[4]).epsilon(1e-9).scale(0.0));
        }
    }

    TEST_CASE("NodesOfATreeThatContainARound") {
        for (const std::uint64_t every : {1U, 3U, 8U, 100U})
            for (std::uint64_t rounds = 0; rounds < 3 * every; ++rounds) {
                // The most nodes that contain one round, of all nodes that end within the tree's rounds so far.
                const auto most_of = [](std::uint64_t length) {
                    std::uint64_t most = 0;
                    for (std::uint64_t round = 1; round <= length; ++round) {
                        std::uint64_t nodes = 0;
                        for (std::uint64_t size = 1; size <= length; size *= 2)
                            nodes += (round + size - 1) / size * size <= length ? 1 : 0;
                        most = std::max(most, nodes);
                    }
                    return most;
                };
                CHECK(tree_nodes(rounds, every) == rounds / every * most_of(every) + most_of(rounds % every));
            }
    }
}
