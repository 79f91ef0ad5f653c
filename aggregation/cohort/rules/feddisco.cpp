// FedDisco: clients whose labels are spread evenly count more.
//
//   out = Σ p_k u_k / Σ p_k with p_k = max(0, w_k / Σ w − a d_k + b), d_k = |share of each label at client k − 1 / labels|
//
// Shapes   n >= 1 updates, one client a slot.
// Source   Ye et al. 2023 (arXiv:2305.19229), with the L2 distance to the uniform distribution.
// Differs  if all p_k are 0, p_k = w_k, so that the round makes a step.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec even_labels() {
    return {
        .name = "even_labels",
        .summary = "the mean with more weight for clients whose labels are spread evenly (FedDisco, arXiv:2305.19229)",
        .single_updates = true,
        .weighs = false,
        .label_discrepancies = true,
        .keys =
            {{.name = "disco_a",
              .default_value = 0.5,
              .range = at_least(0),
              .doc =
                  "Weight taken off for each unit of a client's distance from even labels (a); 0 with disco_b 0 is the mean."},
             {.name = "disco_b",
              .default_value = 0.1,
              .range = at_least(0),
              .doc = "Weight that every client gets on top of its share (b)."}},
        .build = [](const Values&) { return make_mean(); },
        .lines =
            [] {
                return std::vector<std::string>{
                    "let p = maximum(0, k.weight / sum_k(k.weight) - disco_a * k.label_discrepancy + disco_b)",
                    "scale = where(max_k(p) > 0, p, k.weight)"};
            }};
}

}  // namespace fedhive::aggregation
