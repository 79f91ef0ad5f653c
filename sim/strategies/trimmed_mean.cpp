// Coordinate-wise trimmed mean: D. Yin et al. 2018, "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates",
// arXiv:1803.01498, Algorithm 1, option II.
//
//   clients as in FedAvg (the paper: one gradient each);  w_{t+1}[i] <- w_t[i] + mean of (w_k - w_t)[i] without both ends
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec trimmed_mean() {
    return {.name = "trimmed_mean",
            .source = "Yin et al. 2018 (arXiv:1803.01498), Algorithm 1, option II",
            .note =
                "The coordinate-wise mean of the updates without the share `trim` of values at each end. It tolerates fewer "
                "than `trim` "
                "arbitrarily wrong clients. It does not weight updates, so `weighting` is accepted but has no effect. "
                "`training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "trimmed_mean"};
}

}  // namespace fedhive::sim
