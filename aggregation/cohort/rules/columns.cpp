// Rules that combine updates column by column, without weights of their own.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"
#include "aggregation/math/sign_rules.h"
#include "aggregation/math/trimmed_mean.h"

namespace fedhive::aggregation {

AggregatorSpec mean() {
    return {.name = "mean", .summary = "weighted mean (arXiv:1602.05629)", .replaceable = true, .build = [](const Values&) {
                return make_mean();
            }};
}

AggregatorSpec median() {
    return {.name = "median",
            .summary = "the coordinate-wise median, which tolerates a minority of arbitrarily wrong clients (arXiv:1803.01498)",
            .single_updates = true,
            .weighs = false,
            .of_groups = true,
            .build = [](const Values&) { return make_median(); }};
}

AggregatorSpec trimmed_mean() {
    return {.name = "trimmed_mean",
            .summary = "the coordinate-wise mean without the smallest and the largest values (arXiv:1803.01498)",
            .single_updates = true,
            .weighs = false,
            .of_groups = true,
            .keys = {{.name = "trim",
                      .default_value = 0.1,
                      .range = {.low = 0, .high = 0.5, .high_excluded = true},
                      .doc = "Share of a column's values that is left out at each end (β), rounded down to whole updates; at "
                             "least the share of clients that may be arbitrarily wrong; typically 0.1–0.3."}},
            .build = [](const Values& values) { return make_trimmed_mean(values.number("trim")); }};
}

AggregatorSpec mean_around_median() {
    return {
        .name = "mean_around_median",
        .summary = "the coordinate-wise mean of the values closest to the median (arXiv:1802.10116)",
        .single_updates = true,
        .weighs = false,
        .of_groups = true,
        .keys = {{.name = "byzantine",
                  .default_value = std::int64_t{1},
                  .range = between(0, 1 << 20),
                  .doc = "Number of values of a column that are left out, those farthest from its median (f); at least 2 f + "
                         "1 updates must arrive."}},
        .least = [](const Values& values) { return 2 * static_cast<std::size_t>(values.integer("byzantine")) + 1; },
        .build = [](const Values& values) -> std::unique_ptr<Aggregator> {
            return make_mean_around_median(static_cast<double>(values.integer("byzantine")));
        }};
}

AggregatorSpec sign_majority() {
    return {.name = "sign_majority",
            .summary = "the sign that most updates have, coordinate by coordinate (arXiv:1810.05291)",
            .single_updates = true,
            .weighs = false,
            .of_groups = true,
            .build = [](const Values&) { return make_sign_majority(); }};
}

AggregatorSpec robust_rate() {
    return {.name = "robust_rate",
            .summary = "the weighted mean, with the other sign where few updates agree (RLR, arXiv:2007.03767)",
            .single_updates = true,
            .keys = {{.name = "threshold",
                      .default_value = std::int64_t{4},
                      .range = between(0, 1 << 20),
                      .doc = "Least |Σ sign| of a column that keeps the sign of the mean (θ), more than the number of clients "
                             "that may be wrong; 0 is the mean."}},
            .build = [](const Values& values) -> std::unique_ptr<Aggregator> {
                return make_robust_rate(static_cast<double>(values.integer("threshold")));
            }};
}

}  // namespace fedhive::aggregation
