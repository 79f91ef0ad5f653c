// Centered clipping: S. P. Karimireddy, L. He, M. Jaggi 2021, "Learning from History for Byzantine Robust Optimization", ICML,
// arXiv:2012.10333.
//
//   clients as in FedAvg (the paper: momentum of gradients);  w_{t+1} <- w_t + v_t;  v_t <- v_{t-1} + mean of clip(u_k - v_{t-1}, τ)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec centered_clipping() {
    return {.name = "centered_clipping",
            .source = "Karimireddy et al. 2021 (arXiv:2012.10333)",
            .note =
                "The last aggregate, moved towards each update by at most `radius`. One wrong update moves it by at most "
                "`radius` / n. "
                "It does "
                "not weight updates. `training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "centered_clipping"};
}

}  // namespace fedhive::sim
