// Coordinate-wise median: D. Yin et al. 2018, "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates",
// arXiv:1803.01498, Algorithm 1, option I.
//
//   clients as in FedAvg (the paper: one gradient each);  w_{t+1}[i] <- w_t[i] + median_k (w_k - w_t)[i]
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec median() {
    return {.name = "median",
            .source = "Yin et al. 2018 (arXiv:1803.01498), Algorithm 1, option I",
            .note =
                "The coordinate-wise median of the updates. It tolerates a minority of arbitrarily wrong clients. A median "
                "does not weight updates, so `weighting` is accepted but has no effect. With few labels per client it differs "
                "much from the mean. `training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "median"};
}

}  // namespace fedhive::sim
