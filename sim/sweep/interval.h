// Mean and confidence interval over repetitions.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace fedhive::sim {

struct MeanInterval {
    double mean = 0.0;
    std::optional<double> half_width;  // of the 95 % interval; empty for a single value
};

/// Mean and 95 % confidence interval: mean ± t(0.975, n - 1) · s / √n, Student's t, s the sample's standard deviation. `values`
/// must not be empty.
MeanInterval mean_interval(std::span<const double> values);

/// "0.912 ± 0.013": two significant digits of the half width, and the mean to the same decimal place. Without a half width, or
/// if it is only rounding, the mean has `decimals` decimals.
std::string to_string(const MeanInterval& interval, int decimals);

}  // namespace fedhive::sim
