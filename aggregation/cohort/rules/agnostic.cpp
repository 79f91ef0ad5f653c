// AFL: weights of all clients on the simplex that climb where the loss is large.
//
//   out = Σ λ_k u_k / Σ λ_k over the cohort, then λ ← Π(λ + γ F) over all clients, F_k the loss of the model that client k was sent
//   and 0 for those that were not; Π: onto the simplex. λ begins as 1/N; where the cohort has none of it, out = 0.
//
// Shapes   n >= 1 updates, one client a slot. Memory: N numbers; they are in checkpoints.
// Source   Mohri, Sivek, Suresh 2019 (arXiv:1902.00146), Algorithm 1.
// Differs  clients take local steps, as in FedAvg; with a cohort smaller than N only its λ climb.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec agnostic() {
    return {.name = "agnostic",
            .summary = "the mean by weights that climb where the loss is large (AFL, arXiv:1902.00146)",
            .single_updates = true,
            .weighs = false,
            .measures = {"loss"},
            .remembers = {{.name = "lambda", .on_simplex = true}},
            .keys = {{.name = "lambda_lr",
                      .default_value = 0.1,
                      .range = at_least(0),
                      .doc = "Rate of the weights' ascent (γ_λ); 0 is the mean; typically 0.01–0.1."}},
            .build = [](const Values&) { return make_sum(); },
            .lines =
                [] {
                    return std::vector<std::string>{"let total = sum_k(k.lambda)",
                                                    "scale = where(total > 0, k.lambda / total, 0)",
                                                    "k.lambda = k.lambda + lambda_lr * k.sent_loss"};
                }};
}

}  // namespace fedhive::aggregation
