// DnC: the mean of the updates that differ least along the direction in which they differ most.
//
//   s_k = ⟨u_k − ū, v⟩², v the leading right singular vector of the rows u_k − ū;  out = mean of the n − ⌈c f⌉ updates with the smallest s_k
//
// Shapes   n >= 1 updates, one client a slot. At least one counts. Of equal s_k, the one earlier in the cohort comes first.
// Source   Shejwalkar and Houmansadr 2021 (NDSS), divide-and-conquer.
// Differs  inner products make all coordinates cheap, so none are drawn, and there is one iteration.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <cmath>

namespace fedhive::aggregation {

AggregatorSpec spectral() {
    const auto least = [](const Values& values) {
        const double left_out = std::ceil(values.number("filtered") * static_cast<double>(values.integer("byzantine")));
        return static_cast<std::size_t>(left_out) + 1;
    };
    return {.name = "spectral",
            .summary =
                "the mean without the outliers along the direction in which updates differ most (DnC, Shejwalkar and "
                "Houmansadr 2021)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .of_groups = true,
            .keys = {{.name = "byzantine",
                      .default_value = std::int64_t{1},
                      .range = between(0, 1 << 20),
                      .doc = "Number of updates in a round that may be arbitrarily wrong (f)."},
                     {.name = "filtered",
                      .default_value = 1.0,
                      .range = between(0, 1000),
                      .doc = "Updates left out for each wrong one (c), rounded up: c f, and at least one more must arrive."}},
            .least = least,
            .build = [](const Values&) { return make_mean(); },
            .lines =
                [] {
                    return std::vector<std::string>{"let kept = maximum(1, received + floor(-filtered * byzantine))",
                                                    "scale = rank_k(abs(leading_k(1))) < kept"};
                }};
}

}  // namespace fedhive::aggregation
