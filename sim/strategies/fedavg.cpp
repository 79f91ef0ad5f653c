// Federated averaging: H. B. McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from Decentralized Data",
// arXiv:1602.05629, Algorithm 1.
//
//   each round t = 1, 2, …:   S_t <- random set of m clients
//     each client k in S_t:   w_k <- w_t; E epochs of SGD on its own examples, rate eta
//     w_{t+1} <- sum_k (n_k / n) w_k           here  w_t + server_lr * sum_k (n_k / n) (w_k - w_t), equal for server_lr = 1
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedavg() {
    return {.name = "fedavg",
            .source = "McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1",
            .note = "Clients run SGD on their own examples; the server takes the weighted mean of their updates.",
            .default_weighting = Weighting::Examples,
            .local = "plain",
            .aggregator = "mean",
            .server = "sgd"};
}

}  // namespace fedhive::sim
