// Bulyan: E. M. El Mhamdi, R. Guerraoui, S. Rouault 2018, "The Hidden Vulnerability of Distributed Learning in Byzantium",
// ICML, arXiv:1802.07927.
//
//   clients as in FedAvg (the paper: one gradient each);  w_{t+1} <- w_t + Bulyan(w_1 - w_t, …, w_n - w_t)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec bulyan() {
    return {
        .name = "bulyan",
        .source = "El Mhamdi et al. 2018 (arXiv:1802.07927), section 4",
        .note =
            "Chooses n - 2 · `byzantine` updates by repeated Krum, then averages each column's n - 4 · `byzantine` values "
            "around their "
            "median. A round with fewer than 4 · `byzantine` + 3 arrivals makes no server step. It does not weight updates. "
            "`training.clients_per_slot` must be 1.",
        .default_weighting = Weighting::Uniform,
        .aggregator = "bulyan"};
}

}  // namespace fedhive::sim
