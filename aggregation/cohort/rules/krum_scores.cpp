#include "aggregation/cohort/rules/krum_scores.h"

#include <algorithm>
#include <numeric>

namespace fedhive::aggregation {

std::vector<double> krum_scores(const InnerProducts& products, std::span<const std::size_t> rows, std::size_t byzantine) {
    const std::size_t count = rows.size();
    const std::size_t neighbours = std::min(count - 1, count > byzantine + 3 ? count - byzantine - 2 : std::size_t{1});
    std::vector<double> scores;
    for (const std::size_t row : rows) {
        std::vector<double> others;
        for (const std::size_t other : rows)
            if (other != row) others.push_back(products.squared_distance(row, other));
        std::sort(others.begin(), others.end());
        scores.push_back(std::accumulate(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(neighbours), 0.0));
    }
    return scores;
}

}  // namespace fedhive::aggregation
