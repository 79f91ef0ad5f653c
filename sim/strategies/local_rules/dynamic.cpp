// Dynamic regularization (D. A. E. Acar et al. 2021, arXiv:2111.04263, Algorithm 1): see strategies/feddyn.cpp. A client follows the
// gradient of F_k - <g_k, w> + (alpha / 2) |w - w_t|^2.
#include "sim/strategies/local_rule.h"

namespace fedhive::sim {

namespace {

using aggregation::MemoryOwner;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::Place;

MethodFormulas dynamic_formulas(const Values&) {
    return {.memories = {{.name = "g_k", .owner = MemoryOwner::Client}, {.name = "h", .owner = MemoryOwner::Server}},
            .lines = {{Place::Gradient, {"g = g - g_k + alpha * (w - w_t)"}},
                      {Place::End, {"g_k = g_k - alpha * u"}},
                      {Place::Server,
                       {"let h_next = h - alpha * received / clients * u",  //
                        "let direction = u - h_next / alpha",               //
                        "h = h_next"}}}};
}

}  // namespace

LocalRuleSpec local_dynamic() {
    return {
        .name = "dynamic",
        .summary =
            "the loss, a squared distance to the global model and a linear term that each client stores (arXiv:2111.04263)",
        .keys =
            {{.name = "alpha",
              .default_value = 0.01,
              .range = above(0),
              .doc = "Strength of the squared distance to the received model and of the stored linear term (α), dimensionless, "
                     "typically 0.001–0.1. Small values give large server steps; large values hold clients back."}},
        .formulas = dynamic_formulas,
        .goes_by_one_update = "the server's h is the mean of the clients' slopes (arXiv:2111.04263, Algorithm 1)"};
}

}  // namespace fedhive::sim
