// FedExP: D. Jhunjhunwala, S. Wang, G. Joshi 2023, "FedExP: Speeding up Federated Averaging via Extrapolation", ICLR,
// arXiv:2301.09604, Algorithm 1.
//
//   clients as in FedAvg;  w_{t+1} <- w_t + η_t · mean update, η_t = max(1, Σ p_k |u_k|² / (2 (|mean update|² + ε)))
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedexp() {
    return {.name = "fedexp",
            .source = "Jhunjhunwala et al. 2023 (arXiv:2301.09604), Algorithm 1",
            .note =
                "FedAvg with a server rate that the updates give: the more they differ, the larger. "
                "`training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "extrapolated"};
}

}  // namespace fedhive::sim
