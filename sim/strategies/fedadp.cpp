// FedAdp: H. Wu, P. Wang 2021, "Fast-Convergent Federated Learning with Adaptive Weighting", IEEE TCCN, arXiv:2012.00661.
//
//   clients as in FedAvg;  w_{t+1} <- w_t + Σ p_k u_k / Σ p_k, p_k = n_k e^f(angle between u_k and the mean)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedadp() {
    return {.name = "fedadp",
            .source = "Wu and Wang 2021 (arXiv:2012.00661)",
            .note =
                "Updates that point the way of the mean count more; the server remembers each client's mean angle. "
                "`training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Examples,
            .aggregator = "aligned"};
}

}  // namespace fedhive::sim
