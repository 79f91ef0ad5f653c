// Whether numbers come from a distribution: distances and the bounds that they exceed only so often. Draws of a test are keyed, so its verdict
// never changes; the significance says for how many keys in a thousand a correct program would have failed it.
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

/// How often a case draws. What a sanitizer looks for shows in a fiftieth, which is too few to ask for a distribution.
constexpr std::size_t draws(std::size_t all) { return kFewDraws ? all / 50 + 1 : all; }

/// The largest distance between the distribution of `samples` and a continuous one, whose function is `cdf`. With `grain`, samples were
/// rounded to a multiple of it, up or down: what that alone can do does not count.
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

/// Kolmogorov's distance of so many true samples is larger once in 1 / kSignificance times.
/// Source   Massart 1990, doi:10.1214/aop/1176990746 (the Dvoretzky-Kiefer-Wolfowitz inequality with its best constant).
inline double kolmogorov_bound(std::size_t samples) {
    return std::sqrt(std::log(2.0 / kSignificance) / (2.0 * static_cast<double>(samples)));
}

/// kolmogorov_distance from the normal distribution. The uniform one of the same moments is 0.057 away, one of a tenth more deviation 0.023:
/// to tell those apart takes 5,000 and 20,000 samples.
inline double distance_from_normal(std::vector<double> samples, double mean, double deviation, double grain = 0.0) {
    const boost::math::normal normal(mean, deviation);
    return kolmogorov_distance(
        std::move(samples), [&](double value) { return boost::math::cdf(normal, value); }, grain);
}

/// Of how often each of equally likely outcomes was seen.
inline double chi_square(const std::vector<std::size_t>& seen) {
    double total = 0.0;
    for (const std::size_t times : seen) total += static_cast<double>(times);
    const double expected = total / static_cast<double>(seen.size());
    double sum = 0.0;
    for (const std::size_t times : seen)
        sum += (static_cast<double>(times) - expected) * (static_cast<double>(times) - expected);
    return sum / expected;
}

/// chi_square of so many equally likely outcomes is larger once in 1 / kSignificance times.
inline double chi_square_bound(std::size_t outcomes) {
    const boost::math::chi_squared distribution(static_cast<double>(outcomes - 1));
    return boost::math::quantile(boost::math::complement(distribution, kSignificance));
}

}  // namespace fedhive::testing
