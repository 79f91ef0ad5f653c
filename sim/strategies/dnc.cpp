// DnC: V. Shejwalkar, A. Houmansadr 2021, "Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for Federated
// Learning", NDSS.
//
//   clients as in FedAvg;  w_{t+1} <- w_t + η · mean of the updates that differ least along their leading direction
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec dnc() {
    return {.name = "dnc",
            .source = "Shejwalkar and Houmansadr 2021 (NDSS)",
            .note =
                "Leaves out the updates farthest from the mean along the direction in which the updates differ most. "
                "`training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "spectral"};
}

}  // namespace fedhive::sim
