// Zeno's rule, to first order: the mean of the updates that the server's own update scores highest.
//
//   score(k) = ⟨u_k, r⟩ − ρ |u_k|²  with the root client's update r;  out = mean of the max(1, n − b) updates with the highest scores
//
// Shapes   n updates, one client a slot, n >= b + 1. With fewer, one update counts. r: [P], never a part of the mean. Of equal scores, the
//          one earlier in the cohort comes first.
// Source   Xie, Koyejo, Gupta 2019 (arXiv:1805.10032), Zeno: an update's score is the decrease of the loss on the server's examples
//          by that step less ρ times its squared length; the n − b highest count. Xie, Koyejo, Gupta (arXiv:1903.07020), Zeno++:
//          the decrease to first order, by a gradient on the server's examples.
// Differs  r, the update of local training on the server's examples, stands for minus that gradient, so scores are not in units of
//          the loss. If clients and server take one step of plain SGD of rate γ, score(k) is γ times the paper's to first order,
//          with γ ρ for the paper's ρ.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec root_score() {
    return {
        .name = "root_score",
        .summary = "the mean of the updates with the highest ⟨u, r⟩ − ρ |u|², r the server's own (arXiv:1805.10032)",
        .single_updates = true,
        .weighs = false,
        .products = true,
        .root = true,
        .keys = {{.name = "byzantine",
                  .default_value = std::int64_t{1},
                  .range = between(0, 1 << 20),
                  .doc = "Number of updates in a round that are left out (b), at least as many as may be arbitrarily wrong; at "
                         "least b + 1 must arrive."},
                 {.name = "penalty",
                  .default_value = 0.005,
                  .range = at_least(0),
                  .doc =
                      "Factor of an update's squared norm, which is taken off its score (ρ); with 1, no update as long as the "
                      "server's own has a positive score."}},
        .least = [](const Values& values) { return static_cast<std::size_t>(values.integer("byzantine")) + 1; },
        .build = [](const Values&) { return make_mean(); },
        .lines =
            [] {
                return std::vector<std::string>{"let negated = penalty * distance_k(0)^2 - k.dot_root",
                                                "scale = rank_k(negated) < maximum(1, received - byzantine)"};
            }};
}

}  // namespace fedhive::aggregation
