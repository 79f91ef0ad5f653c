// Nearest-neighbour mixing: each update is replaced by the mean of the updates closest to it.
#include "aggregation/cohort/pre_aggregation.h"

#include <algorithm>
#include <numeric>

namespace fedhive::aggregation {

namespace {

/// For each update u_k the n − f updates u_j with the smallest |u_k − u_j|, itself included; of equal ones, the earlier.
///
/// Shapes   count = n >= 1 updates, n groups of max(1, n − f). Cost n² log n.
/// Source   Allouah et al. 2023 (arXiv:2302.01772), nearest-neighbour mixing.
Groups neighbours(const Values& values, std::size_t count, const InnerProducts* products, Stream) {
    const auto wrong = static_cast<std::size_t>(values.integer("mixed_without"));
    const std::size_t kept = count > wrong ? count - wrong : 1;
    Groups groups;
    for (std::size_t k = 0; k < count; ++k) {
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto distance = [&](std::size_t j) { return j == k ? -1.0 : products->squared_distance(k, j); };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
        order.resize(kept);
        std::sort(order.begin(), order.end());
        groups.push_back(std::move(order));
    }
    return groups;
}

}  // namespace

PreAggregationSpec nearest_neighbors() {
    return {
        .name = "nearest_neighbors",
        .summary = "each update becomes the mean of the updates closest to it (NNM, arXiv:2302.01772)",
        .products = true,
        .keys = {{.name = "mixed_without",
                  .default_value = std::int64_t{1},
                  .range = between(0, 1 << 20),
                  .doc =
                      "Updates that each mean leaves out, those farthest away: the number of clients that may be arbitrarily "
                      "wrong (f)."}},
        .least = [](const Values& values,
                    std::size_t rows) { return std::max(rows, static_cast<std::size_t>(values.integer("mixed_without")) + 1); },
        .groups = neighbours};
}

}  // namespace fedhive::aggregation
