// DnC: the mean of the updates that differ least along the direction in which they differ most.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/rules/chosen_rows.h"
#include "aggregation/math/leading_direction.h"
#include "aggregation/math/mean.h"

#include <cmath>
#include <vector>

namespace fedhive::aggregation {

namespace {

/// s_k = ⟨u_k − ū, v⟩², v the leading right singular vector of the rows u_k − ū;  out = mean of the n − ⌈c f⌉ updates with the
/// smallest s_k. Of equal ones, the one earlier in the cohort comes first. At least one counts.
///
/// Shapes   n >= 1 updates, one client a slot.
/// Source   Shejwalkar and Houmansadr 2021 (NDSS), divide-and-conquer.
/// Differs  inner products make all coordinates cheap, so none are drawn, and there is one iteration.
class Dnc final : public WeightRule {
public:
    explicit Dnc(std::size_t left_out) : left_out_(left_out) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        const std::size_t count = updates.size();
        std::vector<double> scores = along_leading_direction(*updates.products, count);
        for (double& score : scores) score = std::abs(score);
        return mean_of(rows_of_smallest(scores, count > left_out_ ? count - left_out_ : 1), count);
    }

private:
    std::size_t left_out_;
};

/// ⌈c f⌉
std::size_t left_out(const Values& values) {
    return static_cast<std::size_t>(std::ceil(values.number("filtered") * static_cast<double>(values.integer("byzantine"))));
}

}  // namespace

AggregatorSpec spectral() {
    return {
        .name = "spectral",
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
        .least = [](const Values& values) { return left_out(values) + 1; },
        .build = [](const Values&) { return make_mean(); },
        .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> { return std::make_unique<Dnc>(left_out(values)); }};
}

}  // namespace fedhive::aggregation
