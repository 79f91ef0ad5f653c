// TERM: weights that grow exponentially with the clients' losses.
//
//   out = Σ p_k u_k / Σ p_k with p_k = w_k e^(t F_k), F_k the loss of the model that client k was sent, on its examples
//
// Shapes   n >= 1 updates, one client a slot. With t = 0 the bits of the weighted mean.
// Source   Li et al. 2021 (arXiv:2007.01162): tilted weights, with clients as groups.
// Differs  the weights are of the losses of the model that was sent, not of a running estimate.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec tilted() {
    return {
        .name = "tilted",
        .summary = "weights that grow exponentially with the clients' losses (TERM, arXiv:2007.01162)",
        .single_updates = true,
        .weighs = false,
        .measures = {"loss"},
        .keys = {{.name = "tilt",
                  .default_value = 1.0,
                  .range = at_least(0),
                  .doc = "How strongly a larger loss counts (t): 0 is the weighted mean; typically 0.1–5."}},
        .build = [](const Values&) { return make_mean(); },
        .lines = [] { return std::vector<std::string>{"scale = k.weight * exp(tilt * (k.sent_loss - max_k(k.sent_loss)))"}; }};
}

}  // namespace fedhive::aggregation
