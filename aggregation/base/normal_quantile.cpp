#include "aggregation/base/normal_quantile.h"

#include "aggregation/base/error.h"

#include <cmath>
#include <numbers>

namespace fedhive {

double normal_quantile(double p) {
    FEDHIVE_CHECK(p > 0.0 && p < 1.0, "no normal quantile of {}", p);
    double low = -40.0, high = 40.0;  // Φ(-40) is 0 in f64
    for (;;) {
        const double middle = low + (high - low) / 2.0;
        if (middle <= low || middle >= high) return middle;
        (0.5 * std::erfc(-middle / std::numbers::sqrt2) < p ? low : high) = middle;
    }
}

}  // namespace fedhive
