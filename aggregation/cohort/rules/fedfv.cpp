// FedFV: the mean of updates after each lost its parts that point against others.
//
//   g_k ← g_k − ⟨g_k, u_j⟩ / |u_j|² u_j for each j with ⟨g_k, u_j⟩ < 0, by ascending loss F_j(w_t);  g_k begins as u_k, and the ⌊α n⌋
//   updates of the largest losses stay as they are.  out = |ū| g / |g| with g = 1/n Σ_k g_k, ū = 1/n Σ_k u_k
//
// Shapes   n >= 1 updates, one client a slot. Equal losses: in cohort order. Cost n³.
// Source   Wang et al. 2021 (arXiv:2104.14937), internal conflicts.
// Differs  conflicts with clients that do not take part in the round (τ) are not looked at.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec without_conflicts() {
    return {.name = "without_conflicts",
            .summary = "the mean of updates without their parts that point against others (FedFV, arXiv:2104.14937)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .measures = {"loss"},
            .keys = {{.name = "kept",
                      .default_value = 0.1,
                      .range = between(0, 1),
                      .doc = "Share of the updates that stay as they are: those of the clients with the largest losses (α), "
                             "rounded down."}},
            .build = [](const Values&) { return make_sum(); },
            .lines =
                [] {
                    return std::vector<std::string>{"let projected = rank_k(k.sent_loss) < received - floor(kept * received)",
                                                    "let g = without_conflicts_k(k.sent_loss, projected) / received",
                                                    "let length = sqrt(sum_k(g * dot_k(g)))",
                                                    "let mean_length = sqrt(sum_k(dot_k(1 / received)) / received)",
                                                    "scale = where(length > 0, g * mean_length / length, 0)"};
                }};
}

}  // namespace fedhive::aggregation
