// FedProx: T. Li et al. 2020, "Federated Optimization in Heterogeneous Networks", arXiv:1812.06127, Algorithm 2.
//
//   each client k in S_t:  w_k <- approximately  argmin_w  F_k(w) + (mu / 2) |w - w_t|^2
//   server as in FedAvg with rate 1
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedprox() {
    return {
        .name = "fedprox",
        .source = "Li et al. 2020 (arXiv:1812.06127), Algorithm 2",
        .note =
            "FedAvg whose clients also minimise their distance from the global model, so that they drift apart less on skewed "
            "data. The paper samples clients in proportion to their examples and averages alike; here they are sampled alike "
            "and weighted.",
        .default_weighting = Weighting::Examples,
        .local = "prox"};
}

}  // namespace fedhive::sim
