// FedYogi: S. J. Reddi et al. 2021, "Adaptive Federated Optimization", arXiv:2003.00295, Algorithm 2.
//
//   as FedAdam, but  v_t <- v_{t-1} - (1 - beta2) Delta_t^2 sign(v_{t-1} - Delta_t^2)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedyogi() {
    return {.name = "fedyogi",
            .source = "Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2",
            .note =
                "FedAdam with an additive second moment: it changes by at most the square of the update, so the rate of a "
                "coordinate that suddenly becomes quiet stays small for longer.",
            .default_weighting = Weighting::Examples,
            .server = "yogi"};
}

}  // namespace fedhive::sim
