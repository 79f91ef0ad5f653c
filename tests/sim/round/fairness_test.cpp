#include "sim/round/fairness.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// One client per accuracy, each with `examples` examples and a loss of 1 - accuracy.
std::vector<ClientQuality> clients_with(const std::vector<double>& accuracies, std::uint64_t examples = 10) {
    std::vector<ClientQuality> clients;
    for (const double accuracy : accuracies)
        clients.push_back(
            {static_cast<std::uint32_t>(clients.size()), examples, 1.0 - accuracy, accuracy, static_cast<double>(examples)});
    return clients;
}

/// Gini by its definition: mean absolute difference of two clients over twice the mean.
double gini_by_pairs(const std::vector<double>& values) {
    double differences = 0.0, sum = 0.0;
    for (const double one : values) {
        sum += one;
        for (const double other : values) differences += std::abs(one - other);
    }
    return differences / (2.0 * static_cast<double>(values.size()) * sum);
}

}  // namespace

TEST_SUITE("Fairness") {
    TEST_CASE("FiveClientsByHand") {
        const Fairness found = fairness_of(clients_with({0.5, 0.0, 1.0, 0.25, 0.75}));
        CHECK(found.clients == 5);
        CHECK(found.examples == 50);
        CHECK(found.mean == 0.5);
        CHECK(found.std == doctest::Approx(std::sqrt(0.125)).epsilon(1e-15));
        // Positions 0.4, 1, 2, 3 and 3.6 in 0 to 4.
        CHECK(found.percentiles[0] == doctest::Approx(0.1));
        CHECK(found.percentiles[1] == 0.25);
        CHECK(found.percentiles[2] == 0.5);
        CHECK(found.percentiles[3] == 0.75);
        CHECK(found.percentiles[4] == doctest::Approx(0.9));
        // Positions 0.8, 1.2, 1.6, 2.4, 2.8 and 3.2.
        for (std::size_t i = 0; i < 6; ++i)
            CHECK(found.deciles[i] == doctest::Approx((i < 3 ? 0.2 : 0.3) + 0.1 * static_cast<double>(i)));
        CHECK(found.worst_10 == 0.0);
        CHECK(found.best_10 == 1.0);
        CHECK(found.gini == doctest::Approx(0.4));
        CHECK(found.loss_mean == 0.5);
    }

    TEST_CASE("WorstAndBestTenthAreMeansOfAsManyClientsRoundedUp") {
        std::vector<double> accuracies;
        for (int i = 0; i < 21; ++i) accuracies.push_back(static_cast<double>(i) / 32.0);
        const Fairness found = fairness_of(clients_with(accuracies));
        CHECK(found.worst_10 == 1.0 / 32.0);  // of clients 0, 1 and 2
        CHECK(found.best_10 == 19.0 / 32.0);
        accuracies.pop_back();
        CHECK(fairness_of(clients_with(accuracies)).worst_10 == 0.5 / 32.0);  // two of 20
    }

    TEST_CASE("ClientsCountAlikeButWhereExamplesDo") {
        std::vector<ClientQuality> clients = clients_with({1.0, 0.0});
        clients[1].examples = 100;
        clients[1].counted = 30.0;  // weighted by counted targets
        const Fairness found = fairness_of(clients);
        CHECK(found.mean == 0.5);
        CHECK(found.mean_by_examples == 0.25);
        CHECK(found.loss_mean == 0.5);
        CHECK(found.loss_by_examples == 0.75);
        CHECK(found.examples == 110);
    }

    TEST_CASE("GiniIsTheMeanDifferenceOfTwoClientsOverTwiceTheMean") {
        Stream stream(5, Purpose::TestData);
        std::vector<double> accuracies(17);
        for (double& accuracy : accuracies) accuracy = stream.uniform();
        CHECK(fairness_of(clients_with(accuracies)).gini == doctest::Approx(gini_by_pairs(accuracies)).epsilon(1e-12));
        CHECK(fairness_of(clients_with({0.75, 0.75, 0.75})).gini == 0.0);
        CHECK(fairness_of(clients_with({0.0, 0.0})).gini == 0.0);
        CHECK(fairness_of(clients_with({0.0, 0.0, 0.0, 1.0})).gini == 0.75);
    }

    TEST_CASE("OneClientIsEverythingAndNobodyIsAnError") {
        const Fairness found = fairness_of(clients_with({0.625}));
        CHECK(found.mean == 0.625);
        CHECK(found.std == 0.0);
        for (const double percentile : found.percentiles) CHECK(percentile == 0.625);
        CHECK(found.worst_10 == 0.625);
        CHECK(found.best_10 == 0.625);
        CHECK_THROWS_AS(fairness_of({}), Fault);
    }
}
