// PrivUnit against its definition: shares of caps and means by quadrature, the paper's formula where it has a closed form, ε from its two
// densities, the mean and length of what a chain sends.
#include "clients/uploads/sphere_cap.h"
#include "tests/clients/uploads/trained.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;
using clients::testing::Trained;

namespace {

/// Natural logarithm of the integral of weight(x) (1 - x²)^((d - 3) / 2) from `from` to `to`, by Simpson's rule in x = sin θ.
template <typename Weight>
double ln_integral(double d, double from, double to, const Weight& weight) {
    constexpr int kPieces = 200'000;
    const double low = std::asin(from), step = (std::asin(to) - low) / kPieces;
    const auto log_density = [&](double angle) { return (d - 2.0) * std::log(std::max(std::cos(angle), 1e-300)); };
    const double largest = from < 0.0 && to > 0.0 ? 0.0 : std::max(log_density(low), log_density(std::asin(to)));
    double sum = 0.0;
    for (int i = 0; i <= kPieces; ++i) {
        const double angle = low + i * step, factor = i == 0 || i == kPieces ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
        sum += factor * weight(std::sin(angle)) * std::exp(log_density(angle) - largest);
    }
    return largest + std::log(sum * step / 3.0);
}

double ln_share_by_quadrature(double d, double t) {
    const auto one = [](double) { return 1.0; };
    return ln_integral(d, t, 1.0, one) - ln_integral(d, -1.0, 1.0, one);
}

/// E⟨V, u⟩ of the mixture, by quadrature.
double mean_by_quadrature(const PrivUnit& unit) {
    const double d = unit.dimension, all = ln_integral(d, -1.0, 1.0, [](double) { return 1.0; });
    const double share = std::exp(ln_share_by_quadrature(d, unit.cap));
    const double in_cap =
        std::exp(ln_integral(d, unit.cap, 1.0, [](double x) { return x; }) - all);  // the rest has as much below 0
    return in_cap * (unit.in_cap / share - (1.0 - unit.in_cap) / (1.0 - share));
}

double epsilon_of(const PrivUnit& unit) {
    return std::log(unit.in_cap / (1.0 - unit.in_cap)) + std::log1p(-std::exp(unit.log_share)) - unit.log_share;
}

std::vector<UploadStep> private_steps(double norm, double epsilon) {
    return {upload_step("clip", {{"norm", norm}}), upload_step("priv_unit", {{"epsilon", epsilon}})};
}

double length_of(const std::vector<float>& values) {
    double squares = 0.0;
    for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squares);
}

}  // namespace

TEST_SUITE("PrivUnit") {
    TEST_CASE("ShareOfACapIsTheIntegralOfItsDensity") {
        for (const double d : {2.0, 3.0, 5.0, 100.0, 3005.0})
            for (const double t : {1e-3, 0.02, 0.1, 0.4, 0.6, 0.9}) {
                if (d * t * t > 1000.0) continue;
                CAPTURE(d);
                CAPTURE(t);
                CHECK(log_share_of_cap(d, t) == doctest::Approx(ln_share_by_quadrature(d, t)).epsilon(1e-9));
            }
        CHECK(log_share_of_cap(7.0, 0.0) == doctest::Approx(std::log(0.5)).epsilon(1e-15));
        CHECK(log_share_of_cap(3.0, 0.5) == doctest::Approx(std::log(0.25)).epsilon(1e-14));  // a sphere's zones go by height
        CHECK(log_share_of_cap(1e9, 1e-3) == doctest::Approx(-504.374062).epsilon(1e-8));
    }

    TEST_CASE("EpsilonIsThatOfTheTwoDensitiesAndTheMeanThatOfTheFormula") {
        for (const std::uint64_t d : {2U, 3U, 100U, 3005U})
            for (const double epsilon : {0.1, 1.0, 10.0}) {
                CAPTURE(d);
                CAPTURE(epsilon);
                const PrivUnit unit = priv_unit_of(d, epsilon);
                CHECK(epsilon_of(unit) == doctest::Approx(epsilon).epsilon(1e-8));
                CHECK(unit.in_cap >= 0.5);
                CHECK(unit.mean == doctest::Approx(mean_by_quadrature(unit)).epsilon(1e-7));
            }
        // On the sphere of R^3, heights are uniform: m = (p (1 + γ) - (1 - p) (1 - γ)) / 2.
        const PrivUnit ball = priv_unit_of(3, 4.0);
        CHECK(ball.mean ==
              doctest::Approx((ball.in_cap * (1 + ball.cap) - (1 - ball.in_cap) * (1 - ball.cap)) / 2).epsilon(1e-12));
    }

    TEST_CASE("NoOtherCapOfTheSameEpsilonHasALargerMean") {
        const double epsilon = 30.0;
        const PrivUnit best = priv_unit_of(400, epsilon);
        CHECK(best.mean > 0.1);
        for (const double cap : {0.0, 0.5 * best.cap, 0.9 * best.cap, 1.02 * best.cap}) {
            const double share = log_share_of_cap(400.0, cap), odds = std::log1p(-std::exp(share)) - share;
            REQUIRE(odds <= epsilon);
            PrivUnit other{
                .dimension = 400.0, .cap = cap, .in_cap = 1.0 / (1.0 + std::exp(odds - epsilon)), .log_share = share};
            CHECK(mean_by_quadrature(other) < best.mean);
        }
    }

    TEST_CASE("HeightsHaveTheirDistribution") {
        const PrivUnit unit = priv_unit_of(5, 1.5);
        Stream draws(11, Purpose::Upload);
        std::vector<double> heights(fedhive::testing::draws(20'000));
        for (double& height : heights) height = draw_of_cap(unit, draws);
        const double share = std::exp(unit.log_share);
        const auto above = [&](double t) {
            return t >= 0.0 ? std::exp(log_share_of_cap(5.0, t)) : 1.0 - std::exp(log_share_of_cap(5.0, -t));
        };
        const auto below = [&](double t) -> double {
            if (t >= unit.cap) return 1.0 - unit.in_cap * above(t) / share;
            return (1.0 - unit.in_cap) * (1.0 - above(t)) / (1.0 - share);
        };
        const double distance = fedhive::testing::kolmogorov_distance(heights, below);
        if (!fedhive::testing::kFewDraws) CHECK(distance < fedhive::testing::kolmogorov_bound(heights.size()));
    }

    TEST_CASE("WhatIsSentHasOneLengthAndItsMeanIsTheClippedUpdate") {
        const std::vector<float> bare = Trained({}).bare();
        for (const double share : {0.5, 4.0}) {  // of the update's norm: clipped, and well within
            CAPTURE(share);
            const double bound = share * length_of(bare), epsilon = 200.0, clipped = std::min(1.0, share);
            const Trained trained(private_steps(bound, epsilon));
            const double length = bound / priv_unit_of(3005, epsilon).mean;
            const auto count = static_cast<std::uint32_t>(fedhive::testing::draws(2'000));
            std::vector<double> mean(bare.size(), 0.0);
            double along = 0.0, squares = 0.0;
            for (std::uint32_t client = 0; client < count; ++client) {
                const std::vector<float> update = trained.update(client);
                CHECK(length_of(update) == doctest::Approx(length).epsilon(1e-4));
                double product = 0.0;
                for (std::size_t i = 0; i < bare.size(); ++i) {
                    product += static_cast<double>(update[i]) * static_cast<double>(bare[i]);
                    mean[i] += static_cast<double>(update[i]) / count;
                }
                product /= std::pow(length_of(bare), 2);
                along += product / count;
                squares += product * product / count;
            }
            if (fedhive::testing::kFewDraws) continue;
            CHECK(std::abs(along - clipped) < 5.0 * std::sqrt((squares - along * along) / count));
            CHECK(squares - along * along < std::pow(length / length_of(bare), 2));
            // A value's deviation is about length / √P: none of 3,005 is 5.5 standard errors away, and together they have the mean's.
            double error = 0.0;
            for (const std::size_t i : trained.places()) {
                const double off = mean[i] - clipped * static_cast<double>(bare[i]);
                CHECK(std::abs(off) < 5.5 * length / std::sqrt(3005.0 * count));
                error += off * off;
            }
            CHECK(error < 1.2 * length * length / count);
        }
    }

    TEST_CASE("DrawsAreTheClientsOwnZerosGetALengthAndWhatIsNotFiniteStays") {
        Trained trained(private_steps(0.5, 50.0));
        CHECK(trained.update(1) == trained.update(1));
        CHECK(trained.update(1) != trained.update(2));
        CHECK(trained.update(1, 2) != trained.update(1, 3));
        const double length = length_of(trained.update());
        trained.local = trained.global;
        CHECK(length_of(trained.update()) == doctest::Approx(length).epsilon(1e-4));
        trained.local[1234] = std::numeric_limits<float>::infinity();
        CHECK_FALSE(std::isfinite(trained.update()[1234]));
    }
}
