// AFL: M. Mohri, G. Sivek, A. T. Suresh 2019, "Agnostic Federated Learning", ICML, arXiv:1902.00146, Algorithm 1.
//
//   clients as in FedAvg, and F_k(w_t);  w_{t+1} <- w_t + Σ λ_k u_k;  λ <- Π(λ + γ F)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec afl() {
    return {
        .name = "afl",
        .source = "Mohri et al. 2019 (arXiv:1902.00146), Algorithm 1",
        .note =
            "The mean by weights that climb where the loss is large, towards the model that is best for the worst mixture of "
            "clients. "
            "Meant for few clients that all take part. Each client first measures the loss of the model that it is sent: one "
            "pass more. `training.clients_per_slot` must be 1.",
        .default_weighting = Weighting::Uniform,
        .aggregator = "agnostic"};
}

}  // namespace fedhive::sim
