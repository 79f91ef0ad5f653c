// FedMGDA+: Z. Hu, K. Shaloudegi, G. Zhang, Y. Yu 2022, "Federated Learning Meets Multi-objective Optimization", IEEE TNSE,
// arXiv:2006.11489, Algorithm 1.
//
//   clients as in FedAvg;  w_{t+1} <- w_t + η Σ λ_k u_k / |u_k|, λ the weights of the shortest such sum
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedmgda_plus() {
    return {.name = "fedmgda_plus",
            .source = "Hu et al. 2022 (arXiv:2006.11489), Algorithm 1",
            .note =
                "A direction in which, to first order, no client's loss rises. Updates are normalised, so `server_lr` is the "
                "length of a "
                "step: near the norm of an update, typically 0.1–1. `training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "common_descent"};
}

}  // namespace fedhive::sim
