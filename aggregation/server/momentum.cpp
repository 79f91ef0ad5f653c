// FedAvgM: T.-M. H. Hsu, H. Qi, M. Brown 2019, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
// Classification", arXiv:1909.06335.
#include "aggregation/server/momentum.h"

namespace fedhive::aggregation {

using formulas::Place;

formulas::MethodFormulas momentum_formulas(const Values& values) {
    if (values.number("server_momentum") == 0.0) return {.lines = {{Place::Server, {"w = w + server_lr * direction"}}}};
    return {.memories = {{.name = "velocity", .owner = MemoryOwner::Server}},
            .lines = {{Place::Server,
                       {"let velocity_next = server_momentum * velocity + direction",  //
                        "w = w + server_lr * velocity_next",                           //
                        "velocity = velocity_next"}}}};
}

ServerOptimizerSpec server_momentum() {
    return {.name = "momentum",
            .summary = "momentum: adds a share of the last server step (arXiv:1909.06335)",
            .keys = {averaging_rate(),
                     {.name = "server_momentum",
                      .default_value = 0.9,
                      .range = fraction_below_one(),
                      .doc = "Fraction of the last server step that is added (β), typically 0.9; 0 is FedAvg; 0.97 and more "
                             "only with small client rates."}},
            .formulas = momentum_formulas};
}

}  // namespace fedhive::aggregation
