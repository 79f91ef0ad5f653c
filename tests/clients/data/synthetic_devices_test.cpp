#include "clients/data/data_format.h"
#include "tests/conformance/dataset_conformance.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace fedhive::clients {

namespace {

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

/// [device]: mean of all features.
std::vector<double> places_of(const Examples& part, std::size_t devices) {
    std::vector<double> sums(devices), counts(devices);
    for (std::size_t i = 0; i < part.size(); ++i) {
        for (std::size_t j = 0; j < 60; ++j) sums[part.owners[i]] += static_cast<double>(feature(part, i, j));
        counts[part.owners[i]] += 60;
    }
    for (std::size_t k = 0; k < devices; ++k) sums[k] /= counts[k];
    return sums;
}

/// How alike the models are: the mean cosine, over pairs of devices and labels with ten examples or more in both, of the directions in which a
/// device's examples of the label lie from all its examples.
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
        for (double& value : d) value /= std::sqrt(std::max(square, 1e-12));  // 0 where it has no other label
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

double variance_of(const std::vector<double>& values) {
    double mean = 0.0, square = 0.0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values) square += (value - mean) * (value - mean) / static_cast<double>(values.size());
    return square;
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
            tests += size / 9;  // of n, a tenth rounded up are tests, the others in `size`: n / 9 or one more
        }
        CHECK(drawn.test.size() >= tests);
        CHECK(drawn.test.size() <= tests + 30);
    }

    TEST_CASE("DevicesAreMoreApartTheLargerTheirSpread") {
        // A device's features have the mean B_k of N(0, beta) and, with 60 of N(B_k, 1), a variance of 1 / 60 around it.
        const double near = variance_of(places_of(draw(3, 200, 0.0).train, 200));
        const double far = variance_of(places_of(draw(3, 200, 4.0).train, 200));
        CHECK(near > 0.6 / 60);
        CHECK(near < 1.5 / 60);
        CHECK(far > 4.0 * 0.7);
        CHECK(far < 4.0 * 1.4);
        CHECK(variance_of(places_of(draw(3, 50, 1.0, true).train, 50)) < 0.2 / 60);
    }

    TEST_CASE("FeaturesScatterByThePowerOfTheirNumber") {
        const Examples train = draw(5, 20, 0.0, true).train;
        for (const std::size_t j : {0U, 9U, 59U}) {
            std::vector<double> values;
            for (std::size_t i = 0; i < train.size(); ++i) values.push_back(static_cast<double>(feature(train, i, j)));
            const double expected = std::pow(static_cast<double>(j + 1), -1.2);
            CHECK(variance_of(values) > 0.85 * expected);
            CHECK(variance_of(values) < 1.15 * expected);
        }
    }

    TEST_CASE("ModelsDifferBetweenDevicesUnlessTheyAreAlike") {
        CHECK(agreement_of(draw(1).train, 30) < 0.15);
        CHECK(agreement_of(draw(1, 30, 1.0, true).train, 30) > 0.7);
    }
}

}  // namespace fedhive::clients
