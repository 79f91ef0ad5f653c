// DP-FTRL: P. Kairouz, B. McMahan, S. Song, O. Thakkar, A. Thakurta, Z. Xu 2021, "Practical and Private (Deep) Learning without
// Sampling or Shuffling", arXiv:2103.00039.
//
//   clients as in FedAvg; the upload step clip bounds each update by C
//   s_t <- s_{t-1} + mean of updates;   w_t <- w_0 + lr (s_t + noise of the tree's nodes that make up 1..t)
//   every restart_every rounds: w_0 <- w_t, s <- 0, a new tree
//
// Differs  a prefix has the plain sum of its nodes' noise, not the estimator of less variance that the paper's experiments take; the
//          noise of a round's increment is divided by the number of updates accepted in it.
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec dp_ftrl() {
    return {.name = "dp_ftrl",
            .source = "Kairouz et al. 2021 (arXiv:2103.00039), DP-FTRL",
            .note =
                "FedAvg whose sum over rounds has the noise of a binary tree, which grows with the logarithm of the rounds. It "
                "needs no sampling of clients to be private. The upload chain ends with clip; with privacy the sampler is "
                "round_robin.",
            .default_weighting = Weighting::Uniform,
            .server = "dp_ftrl"};
}

}  // namespace fedhive::sim
