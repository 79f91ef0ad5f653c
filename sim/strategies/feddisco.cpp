// FedDisco: R. Ye, M. Xu, J. Wang, C. Xu, S. Chen, Y. Wang 2023, "FedDisco: Federated Learning with Discrepancy-Aware Collaboration",
// ICML, arXiv:2305.19229.
//
//   clients as in FedAvg;  w_{t+1} <- w_t + η Σ p_k u_k / Σ p_k, p_k = max(0, n_k / n − a d_k + b)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec feddisco() {
    return {
        .name = "feddisco",
        .source = "Ye et al. 2023 (arXiv:2305.19229)",
        .note =
            "A client counts less the farther its labels are from evenly spread. Each client reports this distance once. For "
            "data with one class label an example. `training.clients_per_slot` must be 1.",
        .aggregator = "even_labels"};
}

}  // namespace fedhive::sim
