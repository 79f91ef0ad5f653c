// FoolsGold: C. Fung, C. J. M. Yoon, I. Beschastnikh 2020, "The Limitations of Federated Learning in Sybil Settings", RAID,
// arXiv:1808.04866, Algorithm 1.
//
//   clients as in FedAvg (the paper: one SGD step);  server:  h_k <- h_k + u_k, the sum of client k's updates
//   c_ij <- cos(h_i, h_j), less for the more honest of two (pardoning);  α_i <- logit of 1 - max_j c_ij, in [0, 1]
//   w_{t+1} <- w_t + Σ α_k u_k / Σ α_k
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec foolsgold() {
    return {
        .name = "foolsgold",
        .source = "Fung et al. 2020 (arXiv:1808.04866), Algorithm 1",
        .note =
            "Sybils that want the same thing send updates that point the same way, round after round; honest clients differ "
            "more. A client's weight falls with the largest cosine between the sum of all its updates and another "
            "client's. The server stores that sum, a vector of the model's size, for each client that has taken part, in "
            "host memory and in checkpoints. Clients with equal data look like sybils. `weighting` is accepted but has no "
            "effect. `training.clients_per_slot` must be 1.",
        .default_weighting = Weighting::Uniform,
        .aggregator = "similarity"};
}

}  // namespace fedhive::sim
