// Krum and Multi-Krum: the mean of those updates of a round that are closest to their neighbours.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/rules/chosen_rows.h"
#include "aggregation/cohort/rules/krum_scores.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <optional>

namespace fedhive::aggregation {

namespace {

/// score(i) = Σ |u_i − u_j|² over the n − f − 2 updates j closest to i;  out = mean of the m updates with the smallest scores.
/// Of equal scores, the one earlier in the cohort comes first.
///
/// Shapes   n updates, one client a slot; n >= max(2 f + 3, f + m). With fewer, at least the closest update counts.
/// Source   Blanchard et al. 2017 (arXiv:1703.02757), section 3; Multi-Krum: section 5, with m chosen.
class Krum final : public WeightRule {
public:
    /// `byzantine`: f; if absent, the largest that n updates tolerate: (n - 3) / 2. `chosen`: m.
    Krum(std::optional<std::int64_t> byzantine, std::int64_t chosen)
        : byzantine_(byzantine), num_chosen_(static_cast<std::size_t>(chosen)) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        const std::size_t count = updates.size();
        const std::size_t most = count > 3 ? (count - 3) / 2 : 0;
        const std::size_t wrong = byzantine_ ? static_cast<std::size_t>(*byzantine_) : most;
        const std::vector<double> scores = krum_scores(*updates.products, all_rows(count), wrong);
        return mean_of(rows_of_smallest(scores, num_chosen_), count);
    }

private:
    std::optional<std::int64_t> byzantine_;
    std::size_t num_chosen_;
};

}  // namespace

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
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<Krum>(values.optional_integer("byzantine"), values.integer("chosen"));
            }};
}

}  // namespace fedhive::aggregation
