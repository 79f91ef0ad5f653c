// FedAdam: S. J. Reddi et al. 2021, "Adaptive Federated Optimization", arXiv:2003.00295, Algorithm 2.
//
//   clients as in FedAvg;  Delta_t <- mean of (w_k - w_t)        the paper allows equal weights or n_k
//   m_t <- beta1 m_{t-1} + (1 - beta1) Delta_t
//   v_t <- beta2 v_{t-1} + (1 - beta2) Delta_t^2
//   w_{t+1} <- w_t + eta m_t / (sqrt(v_t) + tau)                 no bias correction; m_{-1} = 0, v_{-1} = tau^2 (paper: >=)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedadam() {
    return {.name = "fedadam",
            .source = "Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2",
            .note =
                "An Adam step on the server that uses the mean update as the gradient. The paper allows both weightings; the "
                "default here is by examples.",
            .default_weighting = Weighting::Examples,
            .server = "adam"};
}

}  // namespace fedhive::sim
