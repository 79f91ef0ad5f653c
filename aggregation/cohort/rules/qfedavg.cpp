// q-FedAvg: updates of clients with a larger loss count more.
//
//   out = Σ F_k^q u_k / Σ (F_k^q + q F_k^(q−1) L |u_k|²), with F_k the loss of the model that client k was sent, on its examples,
//   and L = 1 / client rate
//
// Shapes   n >= 1 updates, one client a slot. With q = 0 the bits of the mean with equal weights.
// Source   Li et al. 2020 (arXiv:1905.10497), Algorithm 2, numerator and denominator divided by L.
// Differs  a loss below 1e-10 counts as 1e-10.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec loss_power() {
    return {
        .name = "loss_power",
        .summary = "weights by a power of the clients' losses, with the step that goes with it (q-FedAvg, arXiv:1905.10497)",
        .single_updates = true,
        .weighs = false,
        .measures = {"loss"},
        .keys = {{.name = "q",
                  .default_value = 1.0,
                  .range = at_least(0),
                  .doc = "Power of the loss (q): 0 is the mean, larger is fairer and slower; typically 0.1–5."}},
        .build = [](const Values&) { return make_mean(); },
        .lines =
            [] {
                return std::vector<std::string>{"let F = maximum(k.sent_loss, 1e-10)", "scale = F ^ q",
                                                "share = F ^ q + q * F ^ (q - 1) * k.norm ^ 2 / lr"};
            }};
}

}  // namespace fedhive::aggregation
