// FedDyn: D. A. E. Acar et al. 2021, "Federated Learning Based on Dynamic Regularization", arXiv:2111.04263, Algorithm 1.
//
//   each client k in S:  w_k <- argmin of  F_k(w) - <g_k, w> + (alpha / 2) |w - w_t|^2
//                        g_k <- g_k - alpha * (w_k - w_t)
//   server:              h <- h - alpha * (1 / N) * sum over S of (w_k - w_t);   w_(t+1) <- mean of w_k - h / alpha
//
// g_k and h are 0 at the start; g_k is stored with its client and changes when its update is accepted.
//
// Differs  local steps from w_t replace the argmin, as in the paper's experiments; the server's rate is 1 in the paper.
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec feddyn() {
    return {.name = "feddyn",
            .source = "Acar et al. 2021 (arXiv:2111.04263), Algorithm 1",
            .note =
                "A dynamic regularizer changes each client's objective so that the optima of all clients agree with the global "
                "optimum, for any number of local steps on skewed data. It sends and receives no more data than FedAvg, but "
                "stores a vector of the model's size for each client that has taken part, in host memory and in checkpoints.",
            .default_weighting = Weighting::Uniform,
            .local = "dynamic"};
}

}  // namespace fedhive::sim
