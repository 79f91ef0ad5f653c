#include "clients/data/formats/synthetic.h"

#include "aggregation/base/error.h"
#include "tests/conformance/dataset_conformance.h"

#include <doctest/doctest.h>

#include <cmath>

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

    TEST_CASE("CentresAreSeparationApartOnAverageAndSharedByBothParts") {
        const SyntheticOptions options{
            .num_train = 20000, .num_test = 20000, .num_classes = 20, .num_features = 50, .separation = 5};
        const Dataset data = draw_synthetic(options, 1);
        const auto train = class_means(data.train, 20), test = class_means(data.test, 20);
        double between = 0, same = 0;
        for (std::size_t a = 0; a < 20; ++a) {
            same = std::max(same, squared_distance(train[a], test[a]));
            for (std::size_t b = 0; b < a; ++b) between += squared_distance(train[a], train[b]) / 190.0;
        }
        CHECK(std::sqrt(between) == doctest::Approx(5.0).epsilon(0.1));
        CHECK(same < 0.3);  // 50 features, two means of 1,000 examples each: 0.1 expected
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
