// FedProx: T. Li et al. 2020, "Federated Optimization in Heterogeneous Networks", arXiv:1812.06127, Algorithm 2.
//
//   each client k in S_t:  w_k <- approximately  argmin_w  F_k(w) + (mu / 2) |w - w_t|^2
//   server as in FedAvg with rate 1
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedprox() {
    return {.name = "fedprox",
            .source = "Li et al. 2020 (arXiv:1812.06127), Algorithm 2",
            .note =
                "FedAvg whose clients also minimise their distance to the global model, which reduces client drift on skewed "
                "data. The paper samples clients in proportion to their examples and averages with equal weights; fedhive "
                "samples uniformly and weights by examples.",
            .default_weighting = Weighting::Examples,
            .local = "prox"};
}

}  // namespace fedhive::sim
