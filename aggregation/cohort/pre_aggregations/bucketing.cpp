// Bucketing: updates are averaged in buckets of s, drawn anew in each round.
#include "aggregation/cohort/pre_aggregation.h"

#include <algorithm>
#include <numeric>

namespace fedhive::aggregation {

namespace {

/// Buckets of s updates in the order of a drawn permutation; the last one has what is left. Rows are in the
/// order of their first updates.
///
/// Shapes   count >= 1 updates, ⌈count / s⌉ buckets.
/// Source   Karimireddy, He, Jaggi 2022 (arXiv:2006.09365), Algorithm 1.
Groups buckets(const Values& values, std::size_t count, const InnerProducts*, Stream stream) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(std::span(order), stream);
    Groups groups;
    const auto size = static_cast<std::size_t>(values.integer("bucket_size"));
    for (std::size_t first = 0; first < count; first += size) {
        const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
        groups.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, count - first)));
        std::sort(groups.back().begin(), groups.back().end());
    }
    std::sort(groups.begin(), groups.end());
    return groups;
}

}  // namespace

PreAggregationSpec bucketing() {
    return {
        .name = "bucketing",
        .summary = "means of buckets of updates, drawn anew in each round from seeds.sampling (arXiv:2006.09365)",
        .keys = {{.name = "bucket_size",
                  .default_value = std::int64_t{2},
                  .range = between(1, 1 << 20),
                  .doc = "Updates in a bucket, typically 2 (s); a bucket is wrong if one of its updates is, so the rule has to "
                         "bear as many wrong rows as there are wrong updates."}},
        .least = [](const Values& values,
                    std::size_t rows) { return (rows - 1) * static_cast<std::size_t>(values.integer("bucket_size")) + 1; },
        .groups = buckets};
}

}  // namespace fedhive::aggregation
