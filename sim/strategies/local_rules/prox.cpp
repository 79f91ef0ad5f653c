// The proximal term of FedProx (T. Li et al. 2020, arXiv:1812.06127):  F_k(w) + (mu / 2) |w - w_t|^2.
#include "sim/strategies/local_rule.h"

namespace fedhive::sim {

namespace {

aggregation::formulas::MethodFormulas prox_formulas(const Values&) {
    return {.lines = {{aggregation::formulas::Place::Gradient, {"g = g + proximal_mu * (w - w_t)"}}}};
}

}  // namespace

LocalRuleSpec local_prox() {
    return {.name = "prox",
            .summary = "the loss plus a squared distance to the global model (arXiv:1812.06127)",
            .keys = {{.name = "proximal_mu",
                      .default_value = 0.01,
                      .range = at_least(0),
                      .doc = "Proximal coefficient (μ), dimensionless, typically 0.001–1; 0 is FedAvg; a too large value keeps "
                             "clients at the global model and slows training down."}},
            .formulas = prox_formulas};
}

}  // namespace fedhive::sim
