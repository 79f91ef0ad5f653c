// FedAdagrad: S. J. Reddi et al. 2021, "Adaptive Federated Optimization", arXiv:2003.00295, Algorithm 2.
//
//   as FedAdam, but  v_t <- v_{t-1} + Delta_t^2,  and beta1 = 0 unless it is given
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedadagrad() {
    return {.name = "fedadagrad",
            .source = "Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2",
            .note =
                "An Adagrad step on the server: the rate of each coordinate falls with the sum of its squared updates. Made "
                "for sparse gradients, such as those of words.",
            .default_weighting = Weighting::Examples,
            .server = "adagrad"};
}

}  // namespace fedhive::sim
