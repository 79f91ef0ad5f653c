// FedNova: J. Wang et al. 2020, "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization", NeurIPS,
// arXiv:2007.07481.
//
//   clients as in FedAvg, with any number of steps;  w_{t+1} <- w_t + τ_eff Σ p_k u_k / |a_k|₁
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fednova() {
    return {
        .name = "fednova",
        .source = "Wang et al. 2020 (arXiv:2007.07481)",
        .note =
            "FedAvg for clients that take different numbers of steps: an update counts per step. It knows SGD with momentum "
            "and the "
            "proximal term; with other optimisers it divides by the number of steps. `training.clients_per_slot` must be 1.",
        .default_weighting = Weighting::Examples,
        .aggregator = "normalized"};
}

}  // namespace fedhive::sim
