#include "sim/sweep/interval.h"

#include "aggregation/base/error.h"

#include <boost/math/distributions/students_t.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::sim {

MeanInterval mean_interval(std::span<const double> values) {
    FEDHIVE_CHECK(!values.empty(), "the mean of nothing");
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    if (values.size() == 1) return {mean, std::nullopt};
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double t = boost::math::quantile(boost::math::students_t(count - 1.0), 0.975);
    return {mean, t * std::sqrt(squares / (count - 1.0) / count)};
}

namespace {

/// Decimal places that leave `width` two significant digits; -1: tens.
int places_of(double width) {
    const int exponent = static_cast<int>(std::floor(std::log10(width)));
    const double next = std::pow(10.0, exponent + 1);
    const bool rounds_up = std::round(width / next * 100.0) >= 100.0;  // 0.0996 is 0.10
    return 1 - exponent - (rounds_up ? 1 : 0);
}

/// Rounds to tens, hundreds, … (places < 0).
std::string rounded(double value, int places) {
    const double unit = std::pow(10.0, -places);
    return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

}  // namespace

std::string to_string(const MeanInterval& interval, int decimals) {
    const double half = interval.half_width.value_or(0.0);
    if (half <= 1e-9 * std::abs(interval.mean))
        return fmt::format("{:.{}f}{}", interval.mean, decimals, interval.half_width ? " ± 0" : "");
    const int places = places_of(half);
    if (places < 0) return fmt::format("{} ± {}", rounded(interval.mean, places), rounded(half, places));
    return fmt::format("{:.{}f} ± {:.{}f}", interval.mean, places, half, places);
}

}  // namespace fedhive::sim
