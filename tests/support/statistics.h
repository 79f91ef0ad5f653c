// Statistical tests of distributions, with bounds for a given significance. A test's draws are keyed, so its outcome never
// changes; kSignificance is the probability that a correct program fails for a random key.
#pragma once

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace fedhive::testing {

inline constexpr double kSignificance = 0.001;

#ifdef FEDHIVE_SANITIZED
inline constexpr bool kFewDraws = true;
#else
inline constexpr bool kFewDraws = false;
#endif

/// Number of draws. A sanitized build needs only 1/50 of them to find its errors, too few to test a distribution.
constexpr std::size_t draws(std::size_t all) { return kFewDraws ? all / 50 + 1 : all; }

/// Largest distance between the samples' empirical distribution and a continuous one with function `cdf`. With `grain`, samples
/// were rounded to multiples of it, up or down; that alone gives no distance.
template <typename Cdf>
double kolmogorov_distance(std::vector<double> samples, const Cdf& cdf, double grain = 0.0) {
    std::sort(samples.begin(), samples.end());
    const auto count = static_cast<double>(samples.size());
    double distance = 0.0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double below = static_cast<double>(i) / count;
        const double up_to = static_cast<double>(i + 1) / count;
        distance = std::max({distance, up_to - cdf(samples[i] + grain), cdf(samples[i] - grain) - below});
    }
    return distance;
}

/// Bound that kolmogorov_distance of correct samples exceeds with probability kSignificance at most.
/// Source   Massart 1990, doi:10.1214/aop/1176990746 (the Dvoretzky-Kiefer-Wolfowitz inequality with its best constant).
inline double kolmogorov_bound(std::size_t samples) {
    return std::sqrt(std::log(2.0 / kSignificance) / (2.0 * static_cast<double>(samples)));
}

/// kolmogorov_distance from a normal distribution. A uniform distribution of equal moments has distance 0.057, a normal one
/// with 10 % more deviation 0.023: distinguishing them takes 5,000 and 20,000 samples.
inline double distance_from_normal(std::vector<double> samples, double mean, double deviation, double grain = 0.0) {
    const boost::math::normal normal(mean, deviation);
    return kolmogorov_distance(
        std::move(samples), [&](double value) { return boost::math::cdf(normal, value); }, grain);
}

/// Chi-square statistic of the counts of equally likely outcomes.
inline double chi_square(const std::vector<std::size_t>& seen) {
    double total = 0.0;
    for (const std::size_t times : seen) total += static_cast<double>(times);
    const double expected = total / static_cast<double>(seen.size());
    double sum = 0.0;
    for (const std::size_t times : seen)
        sum += (static_cast<double>(times) - expected) * (static_cast<double>(times) - expected);
    return sum / expected;
}

/// Bound that chi_square of that many equally likely outcomes exceeds with probability kSignificance.
inline double chi_square_bound(std::size_t outcomes) {
    const boost::math::chi_squared distribution(static_cast<double>(outcomes - 1));
    return boost::math::quantile(boost::math::complement(distribution, kSignificance));
}

}  // namespace fedhive::testing
