#include "clients/data/data_format.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace fedhive::clients {

namespace {

using testing::distance_from_normal;
using testing::kolmogorov_bound;

constexpr std::size_t kManyDevices = testing::draws(2000);  // enough to tell a normal from a uniform of equal variance

Dataset draw(std::uint64_t seed, std::int64_t devices = 30, double place_spread = 1.0, bool alike = false) {
    const DataFormat& format = data_format("synthetic_devices");
    return format.read(completed({{"devices", devices}, {"place_spread", place_spread}, {"alike", alike}}, format.keys), seed,
                       TargetKind::Class);
}

float feature(const Examples& part, std::size_t example, std::size_t j) {
    float value = 0.0F;
    std::memcpy(&value, &part.values[(example * 60 + j) * sizeof value], sizeof value);
    return value;
}

/// Empirical centre of a device's examples.
struct Place {
    std::array<double, 60> means{};  // by feature
    double mean = 0.0;               // of all features
    double examples = 0.0;
};

std::vector<Place> places_of(const Examples& part, std::size_t devices) {
    std::vector<Place> places(devices);
    for (std::size_t i = 0; i < part.size(); ++i) {
        Place& place = places[part.owners[i]];
        for (std::size_t j = 0; j < 60; ++j) place.means[j] += static_cast<double>(feature(part, i, j));
        ++place.examples;
    }
    for (Place& place : places) {
        for (double& mean : place.means) mean /= place.examples;
        place.mean = std::accumulate(place.means.begin(), place.means.end(), 0.0) / 60.0;
    }
    return places;
}

/// Variance of feature j (from 0) around its device's mean.
double scatter_variance(std::size_t j) { return std::pow(static_cast<double>(j + 1), -1.2); }

/// Similarity of the devices' models: mean cosine between the directions from a device's mean to its mean for a label, over
/// pairs of devices with ten examples of the label each.
double agreement_of(const Examples& part, std::size_t devices) {
    using Vector = std::array<double, 60>;
    std::vector<Vector> sums(devices * 11);  // of each label's examples, and of all
    std::vector<double> counts(devices * 11);
    for (std::size_t i = 0; i < part.size(); ++i)
        for (const std::size_t label : {static_cast<std::size_t>(part.labels[i]), std::size_t{10}}) {
            const std::size_t at = part.owners[i] * 11 + label;
            for (std::size_t j = 0; j < 60; ++j) sums[at][j] += static_cast<double>(feature(part, i, j));
            ++counts[at];
        }
    const auto direction = [&](std::size_t device, std::size_t label) {
        Vector d{};
        double square = 0.0;
        for (std::size_t j = 0; j < 60; ++j) {
            d[j] = sums[device * 11 + label][j] / counts[device * 11 + label] -
                   sums[device * 11 + 10][j] / counts[device * 11 + 10];
            square += d[j] * d[j];
        }
        for (double& value : d) value /= std::sqrt(std::max(square, 1e-12));  // 0 if the device has a single label
        return d;
    };
    double cosines = 0.0, pairs = 0.0;
    for (std::size_t label = 0; label < 10; ++label)
        for (std::size_t one = 0; one < devices; ++one)
            for (std::size_t other = 0; other < one; ++other) {
                if (counts[one * 11 + label] < 10 || counts[other * 11 + label] < 10) continue;
                const Vector a = direction(one, label), b = direction(other, label);
                cosines += std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
                ++pairs;
            }
    return cosines / pairs;
}

}  // namespace

TEST_SUITE("SyntheticDevices") {
    TEST_CASE("ConformsAsADrawnDataset") {
        conformance::check_seeded([](std::uint64_t seed) { return draw(seed, 3); });
    }

    TEST_CASE("EveryDeviceOwnsFortyFiveExamplesOrMoreAndATenthAreTests") {
        const Dataset drawn = draw(1);
        CHECK(drawn.train.shape == ExampleShape{60, 1, 1});
        CHECK(drawn.train.type == ValueType::F32);
        CHECK(drawn.num_classes == 10);
        CHECK(drawn.test.owners.empty());
        std::vector<std::size_t> sizes(30);
        for (const std::uint32_t owner : drawn.train.owners) ++sizes.at(owner);
        std::size_t tests = 0;
        for (const std::size_t size : sizes) {
            CHECK(size >= 45);
            tests += size / 9;  // a device's tests are a tenth of its n examples, rounded up: size / 9 or one more
        }
        CHECK(drawn.test.size() >= tests);
        CHECK(drawn.test.size() <= tests + 30);
    }

    TEST_CASE("PlacesOfDevicesAreNormalAndTheirSpreadIsAVariance") {
        // A device's features scatter around v_k ~ N(B_k, 1), and their mean around B_k ~ N(0, beta).
        std::vector<double> near, far;
        for (const Place& place : places_of(draw(3, 200, 0.0).train, 200))
            for (std::size_t j = 0; j < 60; ++j)
                near.push_back(place.means[j] / std::sqrt(1.0 + scatter_variance(j) / place.examples));
        for (const Place& place : places_of(draw(3, kManyDevices, 4.0).train, kManyDevices)) far.push_back(place.mean);
        if (testing::kFewDraws) return;
        CHECK(distance_from_normal(near, 0.0, 1.0) < kolmogorov_bound(near.size()));
        CHECK(distance_from_normal(near, 0.0, 1.1) > kolmogorov_bound(near.size()));
        const double deviation = std::sqrt(4.0 + 1.0 / 60.0);
        CHECK(distance_from_normal(far, 0.0, deviation) < kolmogorov_bound(far.size()));
        CHECK(distance_from_normal(far, 0.0, 1.3 * deviation) > kolmogorov_bound(far.size()));
        CHECK(distance_from_normal(far, 0.0, deviation / 1.3) > kolmogorov_bound(far.size()));
    }

    TEST_CASE("FeaturesScatterByThePowerOfTheirNumberAndNothingElseTellsAlikeDevicesApart") {
        const Examples train = draw(5, 60, 0.0, true).train;
        for (const std::size_t j : {0U, 9U, 59U}) {
            CAPTURE(j);
            std::vector<double> values;
            for (std::size_t i = 0; i < train.size(); ++i) values.push_back(static_cast<double>(feature(train, i, j)));
            const double deviation = std::sqrt(scatter_variance(j)), bound = kolmogorov_bound(values.size());
            CHECK(distance_from_normal(values, 0.0, deviation) < bound);
            CHECK(distance_from_normal(values, 0.0, 1.1 * deviation) > bound);
        }
        std::vector<double> places;
        for (const Place& place : places_of(train, 60))
            for (std::size_t j = 0; j < 60; ++j)
                places.push_back(place.means[j] / std::sqrt(scatter_variance(j) / place.examples));
        CHECK(distance_from_normal(places, 0.0, 1.0) < kolmogorov_bound(places.size()));
    }

    TEST_CASE("ModelsDifferBetweenDevicesUnlessTheyAreAlike") {
        CHECK(agreement_of(draw(1).train, 30) < 0.15);
        CHECK(agreement_of(draw(1, 30, 1.0, true).train, 30) > 0.7);
    }
}

}  // namespace fedhive::clients
