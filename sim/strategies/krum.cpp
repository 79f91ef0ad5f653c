// Krum: P. Blanchard et al. 2017, "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent", NeurIPS,
// arXiv:1703.02757.
//
//   clients as in FedAvg (the paper: one gradient each);  w_{t+1} <- w_t + Kr(w_1 - w_t, …, w_n - w_t)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec krum() {
    return {.name = "krum",
            .source = "Blanchard et al. 2017 (arXiv:1703.02757), section 3; Multi-Krum: section 5",
            .note =
                "The update that is closest to its neighbours or, with `chosen` above 1, the mean of the `chosen` closest "
                "ones. It tolerates `byzantine` arbitrarily wrong clients in a round. It does not weight updates, so "
                "`weighting` is accepted but has no effect. A round with fewer than 2 · `byzantine` + 3 arrivals makes no "
                "server step. `training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "krum"};
}

}  // namespace fedhive::sim
