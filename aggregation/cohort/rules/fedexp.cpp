// FedExP: the mean, extrapolated by a server rate that the updates themselves give.
//
//   out = η · ū with ū = Σ p_k u_k and η = max(1, Σ p_k |u_k|² / (2 (|ū|² + ε)))
//
// Shapes   n >= 1 updates, one client a slot.
// Source   Jhunjhunwala, Wang, Joshi 2023 (arXiv:2301.09604), Algorithm 1; p_k = 1/M there, or by examples.
// Differs  ε is compared with squared norms of updates; the paper's last model is the mean of the last two, ours is not.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec fedexp_rule() {
    return {.name = "extrapolated",
            .summary = "the weighted mean times a rate of at least 1, larger the more the updates differ (arXiv:2301.09604)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .keys = {{.name = "epsilon",
                      .default_value = 1e-3,
                      .range = at_least(0),
                      .doc = "Added to the squared norm of the mean update (ε); a larger one extrapolates less."}},
            .build = [](const Values&) { return make_mean(); },
            .lines =
                [] {
                    return std::vector<std::string>{
                        "let p = k.weight / sum_k(k.weight)", "let mean_squared = sum_k(p * dot_k(p))",
                        "let rate = maximum(1, sum_k(p * k.norm ^ 2) / (2 * (mean_squared + epsilon)))",
                        "scale = rate * k.weight", "share = k.weight"};
                }};
}

}  // namespace fedhive::aggregation
