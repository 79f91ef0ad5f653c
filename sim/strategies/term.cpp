// TERM: T. Li, A. Beirami, M. Sanjabi, V. Smith 2021, "Tilted Empirical Risk Minimization", ICLR, arXiv:2007.01162.
//
//   clients as in FedAvg, and F_k(w_t);  w_{t+1} <- w_t + Σ p_k u_k / Σ p_k, p_k = n_k e^(t F_k)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec term() {
    return {.name = "term",
            .source = "Li et al. 2021 (arXiv:2007.01162), with clients as groups",
            .note =
                "Weights grow exponentially with the clients' losses. Each client first measures the loss of the model that it "
                "is sent: "
                "one pass more. `training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Examples,
            .aggregator = "tilted"};
}

}  // namespace fedhive::sim
