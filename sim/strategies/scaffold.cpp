// SCAFFOLD: S. P. Karimireddy et al. 2020, "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning",
// arXiv:1910.06378, Algorithm 1.
//
//   each client k in S:  y <- x;  K times:  y <- y - lr * (gradient of a batch at y  - c_k + c)
//                        c_k^+ <- c_k - c + (x - y) / (K * lr)                                    (option II)
//                        or    <- the gradient of all its examples at x                           (option I)
//                        sends  y - x  and  c_k^+ - c_k
//   server:              x <- x + server_lr * mean of y - x;   c <- c + |S| / N * mean of c_k^+ - c_k
//
// c_k is stored with its client between rounds and changes when its update is accepted.
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec scaffold() {
    return {.name = "scaffold",
            .source = "Karimireddy et al. 2020 (arXiv:1910.06378), Algorithm 1",
            .note =
                "Each client corrects its gradients by the difference between its own and the average control variate, which "
                "reduces client drift on skewed data. It sends and receives twice the data of FedAvg, and stores a vector of "
                "the model's size for each client that has taken part, in host memory and in checkpoints.",
            .default_weighting = Weighting::Uniform,
            .local = "scaffold"};
}

}  // namespace fedhive::sim
