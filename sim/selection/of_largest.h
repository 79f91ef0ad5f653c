// The clients with the largest numbers.
#pragma once

#include "sim/selection/candidates.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// The `count` clients with the largest numbers, ascending ids; all if there are fewer. Of equal numbers, the lower id comes first.
inline Cohort of_largest(std::vector<std::pair<double, std::uint32_t>> numbers, std::size_t count) {
    std::sort(numbers.begin(), numbers.end(),
              [](const auto& a, const auto& b) { return std::pair(-a.first, a.second) < std::pair(-b.first, b.second); });
    numbers.resize(std::min(numbers.size(), count));
    Cohort cohort;
    for (const auto& [number, client] : numbers) cohort.push_back(client);
    std::sort(cohort.begin(), cohort.end());
    return cohort;
}

}  // namespace fedhive::sim
