#include "sim/sweep/interval.h"

#include "aggregation/base/error.h"

#include <boost/math/distributions/students_t.hpp>

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

}  // namespace fedhive::sim
