// RFA: K. Pillutla, S. M. Kakade, Z. Harchaoui 2019, "Robust Aggregation for Federated Learning", arXiv:1912.13445.
//
//   clients as in FedAvg;  w_{t+1} <- w_t + geometric median of the updates
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec rfa() {
    return {.name = "rfa",
            .source = "Pillutla et al. 2019 (arXiv:1912.13445)",
            .note =
                "The geometric median of the updates by smoothed Weiszfeld steps. It tolerates less than half of the weight in "
                "arbitrarily wrong updates. `training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Examples,
            .aggregator = "geometric_median"};
}

}  // namespace fedhive::sim
