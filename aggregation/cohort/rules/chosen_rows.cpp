#include "aggregation/cohort/rules/chosen_rows.h"

#include <algorithm>
#include <numeric>

namespace fedhive::aggregation {

std::vector<std::size_t> all_rows(std::size_t count) {
    std::vector<std::size_t> rows(count);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
}

std::vector<std::size_t> rows_of_smallest(std::span<const double> scores, std::size_t count) {
    std::vector<std::size_t> rows = all_rows(scores.size());
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
    rows.resize(std::min(count, rows.size()));
    return rows;
}

Coefficients mean_of(std::span<const std::size_t> chosen, std::size_t count) {
    Coefficients coefficients{.of_updates = std::vector<double>(count, 0.0)};
    for (const std::size_t row : chosen) coefficients.of_updates.at(row) = 1.0;
    return coefficients;
}

}  // namespace fedhive::aggregation
