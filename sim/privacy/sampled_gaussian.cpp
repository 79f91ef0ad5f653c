#include "sim/privacy/sampled_gaussian.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace fedhive::sim {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();  // log 0
constexpr double kReach = 12.0;  // standard deviations; the density beyond is below exp(-72) of its peak

/// A sum of exp(term), as its logarithm.
class LogSum {
public:
    void add(double term) {
        if (term == kNothing) return;
        if (term > most_) {
            sum_ = sum_ * std::exp(most_ - term) + 1.0;
            most_ = term;
        } else {
            sum_ += std::exp(term - most_);
        }
    }
    double value() const { return most_ == kNothing ? kNothing : most_ + std::log(sum_); }

private:
    double most_ = kNothing;
    double sum_ = 0.0;
};

/// log((1 - q) + q exp(t)), without an overflow.
double log_ratio(double q, double t) {
    return t > 30.0 ? t + std::log(q + (1.0 - q) * std::exp(-t)) : std::log1p(q * std::expm1(t));
}

/// log(u^α - 1 - α (u - 1)) with u = exp(l). The bracket is never negative, and its mean is A - 1, because the mean of u is 1.
double log_bracket(double l, double order) {
    const double exponent = order * l;
    if (exponent > 30.0) return exponent + std::log1p(-std::exp(-exponent) * (1.0 - order) - order * std::exp(l - exponent));
    if (std::abs(exponent) > 0.01) return std::log(std::expm1(exponent) - order * std::expm1(l));
    double term = l, power = order, bracket = 0.0;  // Σ_k (α^k - α) l^k / k!
    for (int k = 2; k < 9; ++k) {
        term *= l / k;
        power *= order;
        bracket += (power - order) * term;
    }
    return bracket > 0.0 ? std::log(bracket) : kNothing;
}

/// Disjoint intervals, ascending; the integrand of A - 1 is negligible outside them. It is largest between 0 and α. Up to z = 1 it is
/// a sum of normal densities around 0, 1 and α, times at most 2^α; a gap that is left out holds at most exp(-55) of it.
std::vector<std::pair<double, double>> ranges(double z, double order) {
    if (z > 1.0) return {{-kReach * z, order + kReach * z}};
    std::vector<std::pair<double, double>> found;
    for (const double centre : {0.0, 1.0, order}) {
        const double low = centre - kReach * z, high = centre + kReach * z;
        if (!found.empty() && low <= found.back().second)
            found.back().second = high;
        else
            found.emplace_back(low, high);
    }
    return found;
}

std::vector<double> make_orders() {
    std::vector<double> orders{1.05};
    for (int tenths = 11; tenths < 110; ++tenths) orders.push_back(tenths / 10.0);
    for (int whole = 11; whole < 64; ++whole) orders.push_back(whole);
    for (const double large : {64.0, 80.0, 96.0, 128.0, 192.0, 256.0, 384.0, 512.0, 1024.0}) orders.push_back(large);
    return orders;
}

}  // namespace

std::span<const double> rdp_orders() {
    static const std::vector<double> orders = make_orders();
    return orders;
}

double rdp(const SampledGaussian& step, double order) {
    const auto [q, z] = step;
    FEDHIVE_CHECK(q > 0.0 && q <= 1.0 && z > 0.0 && order > 1.0, "share {}, multiplier {}, order {}", q, z, order);
    if (q == 1.0) return order / (2.0 * z * z);
    // The rectangle rule on a function that is analytic within π z² of the real line; half of what that allows.
    const double width = std::min(z / 8.0, z * z / 4.0);
    LogSum sum;
    for (const auto& [low, high] : ranges(z, order)) {
        const auto count = static_cast<std::int64_t>(std::ceil((high - low) / width));
        for (std::int64_t i = 0; i <= count; ++i) {
            const double x = low + static_cast<double>(i) * width;
            const double bracket = log_bracket(log_ratio(q, (2.0 * x - 1.0) / (2.0 * z * z)), order);
            sum.add(bracket - x * x / (2.0 * z * z));
        }
    }
    const double log_of_rest = sum.value() + std::log(width / (z * std::sqrt(2.0 * std::numbers::pi)));  // log(A - 1)
    const double log_a =
        log_of_rest > 30.0 ? log_of_rest + std::log1p(std::exp(-log_of_rest)) : std::log1p(std::exp(log_of_rest));
    return log_a / (order - 1.0);
}

double epsilon_of(std::span<const double> rdp_of_orders, double delta) {
    const std::span<const double> orders = rdp_orders();
    FEDHIVE_CHECK_EQ(rdp_of_orders.size(), orders.size());
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < orders.size(); ++i) {
        const double order = orders[i], r = rdp_of_orders[i];
        if (delta * delta >= -std::expm1(-r)) return 0.0;
        least = std::min(least, r + std::log1p(-1.0 / order) - std::log(delta * order) / (order - 1.0));
    }
    return std::max(0.0, least);
}

}  // namespace fedhive::sim
