// FedAvg's server: B. McMahan, E. Moore, D. Ramage, S. Hampson, B. Agüera y Arcas 2017, "Communication-Efficient Learning of Deep
// Networks from Decentralized Data", arXiv:1602.05629, Algorithm 1. With server_lr 1, w + direction exactly.
#include "aggregation/server/catalog.h"

namespace fedhive::aggregation {

using formulas::Place;

ServerOptimizerSpec server_sgd() {
    return {.name = "sgd",
            .summary = "adds the combined update times a rate",
            .replaceable = true,
            .keys = {averaging_rate()},
            .formulas = [](const Values&) {
                return formulas::MethodFormulas{.lines = {{Place::Server, {"w = w + server_lr * direction"}}}};
            }};
}

}  // namespace fedhive::aggregation
