#include "clients/data/formats/synthetic.h"

#include "aggregation/base/error.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fedhive::clients {

namespace {

std::vector<std::vector<double>> class_means(const Examples& part, std::int64_t num_classes) {
    const std::size_t features = part.shape.num_values();
    std::vector means(static_cast<std::size_t>(num_classes), std::vector<double>(features));
    std::vector<double> counts(static_cast<std::size_t>(num_classes));
    for (std::size_t i = 0; i < part.size(); ++i) {
        const auto label = static_cast<std::size_t>(part.labels[i]);
        counts[label] += 1.0;
        for (std::size_t f = 0; f < features; ++f) means[label][f] += (part.values[i * features + f] - 128.0) / 24.0;
    }
    for (std::size_t label = 0; label < means.size(); ++label)
        for (double& mean : means[label]) mean /= counts[label];
    return means;
}

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

double nearest_mean_accuracy(const Dataset& data) {
    const auto means = class_means(data.train, data.num_classes);
    const std::size_t features = data.test.shape.num_values();
    double right = 0;
    for (std::size_t i = 0; i < data.test.size(); ++i) {
        std::vector<double> x(features);
        for (std::size_t f = 0; f < features; ++f) x[f] = (data.test.values[i * features + f] - 128.0) / 24.0;
        std::size_t best = 0;
        for (std::size_t label = 1; label < means.size(); ++label)
            if (squared_distance(x, means[label]) < squared_distance(x, means[best])) best = label;
        right += static_cast<std::int32_t>(best) == data.test.labels[i];
    }
    return right / static_cast<double>(data.test.size());
}

}  // namespace

TEST_SUITE("Synthetic") {
    TEST_CASE("ConformsAsADataset") {
        conformance::check_seeded([](std::uint64_t seed) { return draw_synthetic({}, seed); });
    }

    TEST_CASE("ValuesOfSeedOneAreTheKnownOnes") {
        // The same on every machine. A change of this number changes every result on such data; it belongs into the change log.
        CHECK(draw_synthetic({}, 1).fingerprint() == 3127214002265978456U);
    }

    TEST_CASE("PartsDifferEvenWithOneClass") { conformance::check_dataset(draw_synthetic({.num_classes = 1}, 1)); }

    TEST_CASE("OptionsDecideSizesShapeAndClasses") {
        const Dataset data = draw_synthetic({.num_train = 30, .num_test = 7, .num_classes = 4, .num_features = 6}, 3);
        CHECK(data.train.size() == 30);
        CHECK(data.test.size() == 7);
        CHECK(data.num_classes == 4);
        CHECK(data.train.shape == ExampleShape{6, 1, 1});
        std::vector<int> counts(4);
        for (const std::int32_t label : data.train.labels) ++counts[static_cast<std::size_t>(label)];
        CHECK(counts == std::vector{8, 8, 7, 7});
    }

    TEST_CASE("CentresAndExamplesAroundThemAreNormalAndBothPartsShareThem") {
        const SyntheticOptions options{
            .num_train = 20000, .num_test = 20000, .num_classes = 100, .num_features = 50, .separation = 5};
        const Dataset data = draw_synthetic(options, 1);
        const auto train = class_means(data.train, 100), test = class_means(data.test, 100);
        // The mean of 200 examples has the variance of its centre's coordinate, 5^2 / (2 * 50), plus 1 / 200 of theirs.
        std::vector<double> coordinates, examples;
        for (const auto& mean : train) coordinates.insert(coordinates.end(), mean.begin(), mean.end());
        const double bound = testing::kolmogorov_bound(coordinates.size());
        CHECK(testing::distance_from_normal(coordinates, 0.0, std::sqrt(0.255)) < bound);
        CHECK(testing::distance_from_normal(coordinates, 0.0, 1.2 * std::sqrt(0.255)) > bound);
        CHECK(testing::distance_from_normal(coordinates, 0.0, std::sqrt(0.255) / 1.2) > bound);
        for (std::size_t i = 0; i < data.train.size(); i += 4)
            for (std::size_t f = 0; f < 50; ++f)
                examples.push_back((data.train.values[i * 50 + f] - 128.0) / 24.0 -
                                   train[static_cast<std::size_t>(data.train.labels[i])][f]);
        const double grain = 0.5 / 24.0, deviation = std::sqrt(199.0 / 200.0);
        CHECK(testing::distance_from_normal(examples, 0.0, deviation, grain) < testing::kolmogorov_bound(examples.size()));
        CHECK(testing::distance_from_normal(examples, 0.0, 1.1 * deviation, grain) >
              testing::kolmogorov_bound(examples.size()));
        double same = 0;
        for (std::size_t label = 0; label < 100; ++label) same = std::max(same, squared_distance(train[label], test[label]));
        CHECK(same < 1.5);  // 50 features, two means of 200 examples each: 0.5 expected, for two different classes 25
    }

    TEST_CASE("MoreSeparationIsEasier") {
        const double hard = nearest_mean_accuracy(draw_synthetic({.separation = 1.0}, 4));
        const double normal = nearest_mean_accuracy(draw_synthetic({}, 4));
        const double easy = nearest_mean_accuracy(draw_synthetic({.separation = 6.0}, 4));
        CHECK(hard > 0.1);
        CHECK(hard < normal);
        CHECK(normal < easy);
        CHECK(easy > 0.95);
    }

    TEST_CASE("ImpossibleOptionsAreConfigErrors") {
        CHECK_THROWS_WITH_AS(draw_synthetic({.num_classes = 0}, 1), doctest::Contains("0 classes of 20 features"), ConfigError);
        CHECK_THROWS_WITH_AS(draw_synthetic({.num_features = -1}, 1), doctest::Contains("10 classes of -1 features"),
                             ConfigError);
        for (const double separation : {0.0, -2.0, std::nan(""), HUGE_VAL})
            CHECK_THROWS_WITH_AS(draw_synthetic({.separation = separation}, 1), doctest::Contains("separation"), ConfigError);
    }
}

}  // namespace fedhive::clients
