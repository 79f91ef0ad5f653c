// FedNova: updates divided by the length of their clients' training, so that clients with more steps do not pull the model to
// their own optimum.
//
//   out = Σ p_k a_k · Σ p_k u_k / a_k, where a_k = |a|₁ is what τ_k steps of the client's optimiser make of a constant gradient of 1,
//   divided by the client rate: τ_k for plain SGD
//
// Shapes   n >= 1 updates, one client a slot. With equal a_k the bits of the weighted mean.
// Source   Wang et al. 2020 (arXiv:2007.07481): the normalised averaging with a_k of SGD, of SGD with momentum, of FedProx.
// Differs  a_k leaves out weight decay and Nesterov momentum; for other optimisers it is τ_k. A client without a step has a_k = 1.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec fednova_rule() {
    return {
        .name = "normalized",
        .summary = "the weighted mean of updates per local step, times the mean number of steps (FedNova, arXiv:2007.07481)",
        .single_updates = true,
        .weighs = false,
        .build = [](const Values&) { return make_mean(); },
        .lines =
            [] {
                return std::vector<std::string>{"let is_plain = momentum + proximal_mu == 0",
                                                "let step = 0",
                                                "let velocity = 0 * k.steps",
                                                "let moved = 0 * k.steps",
                                                "repeat where(is_plain, 0, max_k(k.steps))",
                                                "let next = momentum * velocity + 1 - proximal_mu * lr * moved",
                                                "step = step + 1",
                                                "velocity = next",
                                                "moved = where(step < k.steps, moved + next, moved)",
                                                "end",
                                                "let length = where(k.steps > 0, where(is_plain, k.steps, moved), 1)",
                                                "let a = length / max_k(length)",
                                                "scale = k.weight * (sum_k(k.weight * a) / sum_k(k.weight)) / a",
                                                "share = k.weight"};
            }};
}

}  // namespace fedhive::aggregation
