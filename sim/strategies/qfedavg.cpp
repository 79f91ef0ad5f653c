// q-FedAvg: T. Li, M. Sanjabi, A. Beirami, V. Smith 2020, "Fair Resource Allocation in Federated Learning", ICLR,
// arXiv:1905.10497, Algorithm 2.
//
//   clients as in FedAvg, and F_k(w_t);  w_{t+1} <- w_t + Σ F_k^q u_k / Σ (F_k^q + q F_k^(q-1) |u_k|² / lr)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec qfedavg() {
    return {
        .name = "qfedavg",
        .source = "Li et al. 2020 (arXiv:1905.10497), Algorithm 2",
        .note =
            "Clients with a larger loss count more, so that accuracies differ less between clients. Each client first measures "
            "the "
            "loss of the model that it is sent: one pass more. A client rate that schedules change is the L of the paper in "
            "each round. `training.clients_per_slot` must be 1.",
        .default_weighting = Weighting::Uniform,
        .aggregator = "loss_power"};
}

}  // namespace fedhive::sim
