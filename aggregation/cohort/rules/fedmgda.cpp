// FedMGDA+: the shortest combination of normalised updates, so that no client's loss rises to first order.
//
//   out = Σ λ_k u_k / |u_k| with λ = argmin |Σ λ_k u_k / |u_k||² over Σ λ_k = 1, λ_k ≥ 0, |λ_k − p_k| ≤ ε;  p_k = w_k / Σ w
//
// Shapes   n >= 1 updates, one client a slot; an update of length 0 gets coefficient 0.
// Source   Hu et al. 2022 (arXiv:2006.11489), Algorithm 1.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec common_descent() {
    return {.name = "common_descent",
            .summary = "the shortest combination of normalised updates (FedMGDA+, arXiv:2006.11489)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .keys = {{.name = "spread",
                      .default_value = 0.1,
                      .range = between(0, 1),
                      .doc = "How far a weight may be from its share (ε): 0 is the mean of normalised updates, 1 allows every "
                             "weight."}},
            .build = [](const Values&) { return make_sum(); },
            .lines =
                [] {
                    return std::vector<std::string>{"let length = distance_k(0)",
                                                    "let lambda = shortest_k(k.weight / sum_k(k.weight), spread)",
                                                    "scale = where(length > 0, lambda / length, 0)"};
                }};
}

}  // namespace fedhive::aggregation
