// FoolsGold's rule: clients whose updates have pointed the same way over many rounds count less. With h_k the sum of client k's accepted
// updates, this one included:
//
//   c_ij = cos(h_i, h_j);   v_i = max(0, max_{j≠i} c_ij);   c_ij ← c_ij v_i / v_j  where v_j > v_i        (pardoning)
//   α_i = 1 − max(0, max_{j≠i} c_ij), in [0, 1];   α_i ← α_i / max_j α_j;   α_i ← κ (ln(α_i / (1 − α_i)) + 0.5), clipped to [0, 1]
//   out = Σ α_k u_k / Σ α_k;   0 if every α_k is 0
//
// Shapes   n >= 1 updates, one client a slot. Memory: [P] for each client that was accepted once, in its record.
// Source   Fung, Yoon, Beschastnikh 2020 (arXiv:1808.04866), Algorithm 1; v_i >= 0 as in the authors' program.
// Differs  the paper adds Σ α_k u_k of single SGD steps; here it is divided by Σ α_k, so that the server rate means what it does for the mean.
//          All parameters count alike: no features are chosen (S of the paper). A zero h_k has cosine 0. α_i below 1e-5 is 0, since the
//          division by the largest would make weights of rounding errors where all are alike; cosines are known to about 1e-6.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec similarity() {
    return {
        .name = "similarity",
        .summary = "the mean by how little a client's summed updates resemble another's (FoolsGold, arXiv:1808.04866)",
        .single_updates = true,
        .weighs = false,
        .products = true,
        .histories = true,
        .keys = {{.name = "confidence",
                  .default_value = 1.0,
                  .range = above(0),
                  .doc = "How steeply a weight follows from the similarity (κ); the paper's is 1, larger ones decide harder."}},
        .build = [](const Values&) { return make_sum(); },
        .lines =
            [] {
                return std::vector<std::string>{
                    "let alone = maximum(0, 1 - closest_k(closest_k(1)))",
                    "let distinct = where(alone < 1e-5, 0, alone)",
                    "let alpha = where(max_k(distinct) > 0, distinct / max_k(distinct), 0)",
                    "let logit = minimum(1, maximum(0, confidence * (log(alpha / (1 - alpha)) + 0.5)))",
                    "let steep = where(alpha <= 0, 0, where(alpha >= 1, 1, logit))",
                    "scale = where(sum_k(steep) > 0, steep / sum_k(steep), 0)"};
            }};
}

}  // namespace fedhive::aggregation
