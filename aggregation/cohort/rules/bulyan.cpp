// Bulyan: chooses updates one after the other by Krum, then averages each column's values around their median.
//
//   θ = n − 2 f times: the update with the smallest score of Krum among those left moves to the chosen ones. Then, column by column,
//   out = the mean of the θ − 2 f chosen values closest to their median.
//
// Shapes   n updates, one client a slot; n >= 4 f + 3. Of equal scores, the one earlier in the cohort comes first.
// Source   El Mhamdi et al. 2018 (arXiv:1802.07927), section 4, with Krum as the rule inside.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/trimmed_mean.h"

namespace fedhive::aggregation {

AggregatorSpec bulyan() {
    return {.name = "bulyan",
            .summary = "updates chosen by repeated Krum, then the mean around their median (arXiv:1802.07927)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .of_groups = true,
            .keys = {{.name = "byzantine",
                      .default_value = std::int64_t{1},
                      .range = between(0, 1 << 20),
                      .doc = "Number of updates in a round that may be arbitrarily wrong (f); at least 4 f + 3 must arrive."}},
            .least = [](const Values& values) { return 4 * static_cast<std::size_t>(values.integer("byzantine")) + 3; },
            .build = [](const Values& values) -> std::unique_ptr<Aggregator> {
                return make_mean_around_median(2.0 * static_cast<double>(values.integer("byzantine")));
            },
            .lines =
                [] {
                    return std::vector<std::string>{"let left = 1 + 0 * k.n",
                                                    "repeat received - 2 * byzantine",
                                                    "let score = nearest_k(maximum(1, sum_k(left) - byzantine - 2), left)",
                                                    "left = left * (rank_k(where(left, score, 1e300)) > 0)",
                                                    "end",
                                                    "scale = 1 - left"};
                }};
}

}  // namespace fedhive::aggregation
