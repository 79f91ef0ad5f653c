// FedAvg with server momentum: T.-M. H. Hsu, H. Qi, M. Brown 2019, "Measuring the Effects of Non-Identical Data Distribution
// for Federated Visual Classification", arXiv:1909.06335 (FedAvgM).
//
//   clients as in FedAvg;  dw <- sum_k (n_k / n) (w_t - w_k)
//   v <- beta v + dw;   w_{t+1} <- w_t - v     here with update = -dw and a server rate in front of v
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedavgm() {
    return {.name = "fedavgm",
            .source = "Hsu et al. 2019 (arXiv:1909.06335), FedAvgM",
            .note =
                "FedAvg with momentum on the server, which steadies training on skewed data. The effective rate is "
                "server_lr / (1 − server_momentum): when raising the momentum, lower the client rate.",
            .default_weighting = Weighting::Examples,
            .server = "momentum"};
}

}  // namespace fedhive::sim
