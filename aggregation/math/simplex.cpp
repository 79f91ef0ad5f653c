#include "aggregation/math/simplex.h"

#include <algorithm>
#include <functional>

namespace fedhive::aggregation {

std::vector<double> onto_simplex(const std::vector<double>& point) {
    std::vector<double> sorted = point;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    double sum = 0.0;
    double shift = 0.0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        sum += sorted[i];
        const double candidate = (sum - 1.0) / static_cast<double>(i + 1);
        if (sorted[i] > candidate) shift = candidate;
    }
    std::vector<double> projected;
    projected.reserve(point.size());
    for (const double value : point) projected.push_back(std::max(0.0, value - shift));
    return projected;
}

}  // namespace fedhive::aggregation
