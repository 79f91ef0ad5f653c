// Krum, Multi-Krum: the update that is nearest to its neighbours, or the mean of several.
//
//   score(i) = Σ |u_i − u_j|² over the n − f − 2 updates j closest to i;  out = mean of the m updates with the smallest scores
//
// Shapes   n updates, one client a slot; n >= max(2 f + 3, f + m). With fewer, at least the closest update counts. Of equal scores, the one
//          earlier in the cohort comes first.
// Source   Blanchard et al. 2017 (arXiv:1703.02757), section 3; Multi-Krum: section 5, with m chosen.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>

namespace fedhive::aggregation {

AggregatorSpec krum() {
    return {.name = "krum",
            .summary = "the update closest to its neighbours, or the mean of several (arXiv:1703.02757)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .of_groups = true,
            .keys = {{.name = "byzantine",
                      .default_value = std::optional<std::int64_t>(),
                      .range = between(0, 1 << 20),
                      .default_note = "the most that a round tolerates",
                      .doc = "Number of updates in a round that may be arbitrarily wrong (f); at least 2 f + 3 must arrive. If "
                             "it is left out: (n - 3) / 2 of the n that arrive."},
                     {.name = "chosen",
                      .default_value = std::int64_t{1},
                      .range = between(1, 1 << 20),
                      .doc = "Number of updates that are averaged (m): 1 is Krum, more is Multi-Krum, typically the number of "
                             "arrivals minus f."}},
            .least =
                [](const Values& values) {
                    const auto wrong = static_cast<std::size_t>(values.optional_integer("byzantine").value_or(0));
                    return std::max(2 * wrong + 3, wrong + static_cast<std::size_t>(values.integer("chosen")));
                },
            .build = [](const Values&) { return make_mean(); },
            .lines =
                [] {
                    return std::vector<std::string>{
                        "let f = where(byzantine >= 0, byzantine, floor(maximum(0, received - 3) / 2))",
                        "let score = nearest_k(maximum(1, received - f - 2))", "scale = rank_k(score) < chosen"};
                }};
}

}  // namespace fedhive::aggregation
