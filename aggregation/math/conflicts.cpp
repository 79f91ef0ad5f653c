#include "aggregation/math/conflicts.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <numeric>

namespace fedhive::aggregation {

std::vector<double> sum_without_conflicts(const InnerProducts& products, std::span<const double> order,
                                          std::span<const double> projected) {
    const std::size_t count = products.rows();
    FEDHIVE_CHECK(order.size() == count && projected.size() == count, "{} and {} numbers for {} rows", order.size(),
                  projected.size(), count);
    std::vector<std::size_t> ascending(count);
    std::iota(ascending.begin(), ascending.end(), std::size_t{0});
    std::stable_sort(ascending.begin(), ascending.end(), [&](std::size_t a, std::size_t b) { return order[a] < order[b]; });
    std::vector<double> sum(count, 0.0);
    for (std::size_t k = 0; k < count; ++k) {
        std::vector<double> gradient(count, 0.0);  // coefficients of g_k
        gradient[k] = 1.0;
        for (const std::size_t j : ascending) {
            if (projected[k] == 0.0 || j == k || products.squared(j) == 0.0) continue;
            const double along = products.dot_of(j, gradient);
            if (along < 0.0) gradient[j] -= along / products.squared(j);
        }
        for (std::size_t i = 0; i < count; ++i) sum[i] += gradient[i];
    }
    return sum;
}

}  // namespace fedhive::aggregation
