// Bulyan: chooses updates one after the other by Krum, then averages each column's values around their median.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/rules/chosen_rows.h"
#include "aggregation/cohort/rules/krum_scores.h"
#include "aggregation/math/trimmed_mean.h"

#include <algorithm>

namespace fedhive::aggregation {

namespace {

/// θ = n − 2 f times: the update with the smallest score of Krum among those left moves to the chosen ones. Then, column by
/// column, out = the mean of the θ − 2 f chosen values closest to their median.
///
/// Shapes   n updates, one client a slot; n >= 4 f + 3.
/// Source   El Mhamdi et al. 2018 (arXiv:1802.07927), section 4, with Krum as the rule inside.
class Bulyan final : public WeightRule {
public:
    explicit Bulyan(std::int64_t byzantine) : byzantine_(static_cast<std::size_t>(byzantine)) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        std::vector<std::size_t> left = all_rows(updates.size());
        std::vector<std::size_t> chosen;
        while (chosen.size() + 2 * byzantine_ < updates.size()) {
            const std::vector<double> scores = krum_scores(*updates.products, left, byzantine_);
            const auto best = std::min_element(scores.begin(), scores.end()) - scores.begin();
            chosen.push_back(left[static_cast<std::size_t>(best)]);
            left.erase(left.begin() + best);
        }
        return mean_of(chosen, updates.size());
    }

private:
    std::size_t byzantine_;
};

}  // namespace

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
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<Bulyan>(values.integer("byzantine"));
            }};
}

}  // namespace fedhive::aggregation
