#include "clients/uploads/sphere_cap.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/elements.h"
#include "aggregation/math/scalar_functions.h"

#include <array>
#include <cmath>

namespace fedhive::clients {

namespace {

constexpr double kLnTwo = 0.69314718055994531, kLnPi = 1.1447298858494002;
constexpr int kHalvings = 60;

double ln(double x) { return aggregation::element::logarithm(x); }
double power_of_e(double x) { return aggregation::formulas::exponential(x); }

/// ln(1 - x), x in [0, 1).
double ln_of_rest(double x) {
    if (x > 0.25) return ln(1.0 - x);
    const double z = x / (2.0 - x), square = z * z;
    double series = 0.0;
    for (int k = 25; k >= 1; k -= 2) series = series * square + 1.0 / k;
    return -2.0 * z * series;
}

/// ln(Γ(x + 1/2) / Γ(x)), x > 0: the asymptotic series from 16 on, the recurrence below.
double ln_gamma_step(double x) {
    double below = 0.0;
    for (; x < 16.0; x += 1.0) below -= ln((x + 0.5) / x);
    const double inverse = 1.0 / x, square = inverse * inverse;
    constexpr std::array<double, 5> kTerms{-1.0 / 8, 1.0 / 192, -1.0 / 640, 17.0 / 14336, -31.0 / 18432};
    double series = 0.0;
    for (std::size_t i = kTerms.size(); i-- > 0;) series = series * square + kTerms[i];
    return below + 0.5 * ln(x) + series * inverse;
}

/// ln B(a, 1/2)
double ln_beta(double a) { return 0.5 * kLnPi - ln_gamma_step(a); }

/// I_x(a, b) · a B(a, b) / (x^a (1 - x)^b) by the continued fraction of DLMF 8.17.22, evaluated by Lentz's method; for x below
/// (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
    constexpr double kLeast = 1e-300, kClose = 1e-15;
    constexpr int kMostTerms = 1'000'000;
    const auto kept = [](double value) { return std::fabs(value) < kLeast ? kLeast : value; };
    double c = 1.0, d = 1.0 / kept(1.0 - (a + b) * x / (a + 1.0)), value = d;
    for (int m = 1; m <= kMostTerms; ++m) {
        const double two = 2.0 * m;
        const double even = m * (b - m) * x / ((a + two - 1.0) * (a + two));
        d = 1.0 / kept(1.0 + even * d);
        c = kept(1.0 + even / c);
        value *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + two) * (a + two + 1.0));
        d = 1.0 / kept(1.0 + odd * d);
        c = kept(1.0 + odd / c);
        value *= d * c;
        if (std::fabs(d * c - 1.0) < kClose) return value;
    }
    throw Fault("a continued fraction of the incomplete beta function does not converge");
}

/// The largest t in [low, high] up to 2^-60 of its length at which a falling function is at least `least`.
template <typename Falling>
double last_at_least(double low, double high, double least, const Falling& falling) {
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = 0.5 * (low + high);
        (falling(middle) >= least ? low : high) = middle;
    }
    return low;
}

/// ln((1 - q) / q)
double odds_against(double log_share) { return ln_of_rest(power_of_e(log_share)) - log_share; }

PrivUnit with_cap(double dimension, double epsilon, double cap) {
    PrivUnit unit{.dimension = dimension, .cap = cap, .log_share = log_share_of_cap(dimension, cap)};
    const double alpha = 0.5 * (dimension - 1.0);
    const double left = std::fmax(0.0, epsilon - odds_against(unit.log_share));  // ln(p / (1 - p))
    unit.in_cap = 1.0 / (1.0 + power_of_e(-left));
    const double log_c = alpha * ln_of_rest(cap * cap) - ln(dimension - 1.0) - ln_beta(alpha);
    unit.mean = power_of_e(log_c - unit.log_share) * unit.in_cap -
                power_of_e(log_c) * (1.0 - unit.in_cap) / (1.0 - power_of_e(unit.log_share));
    return unit;
}

}  // namespace

double log_share_of_cap(double dimension, double t) {
    FEDHIVE_CHECK(dimension >= 2.0 && t >= 0.0 && t < 1.0, "a cap from {} on in {} dimensions", t, dimension);
    if (t == 0.0) return -kLnTwo;
    const double alpha = 0.5 * (dimension - 1.0), square = t * t, rest = (1.0 - t) * (1.0 + t);
    const double log_front = alpha * (square > 0.25 ? ln(rest) : ln_of_rest(square)) + ln(t) - ln_beta(alpha);
    if (square > 1.5 / (alpha + 2.5)) return log_front - ln(alpha) - kLnTwo + ln(beta_fraction(alpha, 0.5, rest));
    return ln_of_rest(2.0 * power_of_e(log_front) * beta_fraction(0.5, alpha, square)) - kLnTwo;
}

PrivUnit priv_unit_of(std::uint64_t dimension, double epsilon) {
    FEDHIVE_CHECK(dimension >= 2 && epsilon > 0.0, "PrivUnit in {} dimensions with an epsilon of {}", dimension, epsilon);
    const auto d = static_cast<double>(dimension);
    // Beyond this cap even p = 1/2 costs more than epsilon.
    const double largest = last_at_least(0.0, 1.0, -epsilon, [&](double t) { return -odds_against(log_share_of_cap(d, t)); });
    constexpr double kGolden = 0.61803398874989485;
    double low = 0.0, high = largest;
    for (int i = 0; i < kHalvings; ++i) {
        const double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
        if (with_cap(d, epsilon, left).mean < with_cap(d, epsilon, right).mean)
            low = left;
        else
            high = right;
    }
    return with_cap(d, epsilon, low);
}

double draw_of_cap(const PrivUnit& unit, Stream& draws) {
    const bool in_cap = draws.uniform() < unit.in_cap;
    const double share = 1.0 - draws.uniform();  // in (0, 1]
    const auto log_share = [&](double t) { return log_share_of_cap(unit.dimension, t); };
    if (in_cap) return last_at_least(unit.cap, 1.0, unit.log_share + ln(share), log_share);
    const double below = share * (1.0 - power_of_e(unit.log_share));  // P(⟨V, u⟩ < t)
    if (below < 0.5) return -last_at_least(0.0, 1.0, ln(below), log_share);
    return last_at_least(0.0, unit.cap, ln(1.0 - below), log_share);
}

}  // namespace fedhive::clients
