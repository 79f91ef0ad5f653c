// FedAdam: S. J. Reddi et al. 2021, "Adaptive Federated Optimization", arXiv:2003.00295, Algorithm 2.
//
//   clients as in FedAvg;  Delta_t <- mean of (w_k - w_t)        the paper allows equal weights or n_k
//   m_t <- beta1 m_{t-1} + (1 - beta1) Delta_t
//   v_t <- beta2 v_{t-1} + (1 - beta2) Delta_t^2
//   w_{t+1} <- w_t + eta m_t / (sqrt(v_t) + tau)                 no bias correction; m_{-1} = 0, v_{-1} = tau^2 (there: at least that)
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

namespace {

Strategy build_fedadam(const Values& values) {
    Strategy strategy;
    strategy.server_optimizer = aggregation::make_server_adam({.lr = static_cast<float>(values.number("server_lr")),
                                                               .beta1 = static_cast<float>(values.number("beta1")),
                                                               .beta2 = static_cast<float>(values.number("beta2")),
                                                               .tau = static_cast<float>(values.number("tau"))});
    return strategy;
}

}  // namespace

StrategySpec fedadam() {
    return {.name = "fedadam",
            .source = "Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2",
            .note =
                "An Adam step on the server, with the mean update in the gradient's place. The paper allows both weightings; "
                "weighted "
                "by examples here unless said otherwise.",
            .default_weighting = Weighting::Examples,
            .keys = {{.name = "server_lr",
                      .default_value = 0.01,
                      .range = above(0),
                      .doc = "Server rate, per round, typically 0.001–0.1 (η); 1, right for FedAvg, is far too large here."},
                     {.name = "beta1",
                      .default_value = 0.9,
                      .range = fraction_below_one(),
                      .doc = "Decay of the first moment, typically 0.9 (β₁)."},
                     {.name = "beta2",
                      .default_value = 0.99,
                      .range = fraction_below_one(),
                      .doc = "Decay of the second moment, typically 0.99 (β₂)."},
                     {.name = "tau",
                      .default_value = 0.001,
                      .range = above(0),
                      .doc = "Degree of adaptivity, in units of an update, typically 0.001 (τ); smaller lets coordinates that "
                             "hardly move take steps as large as the others."}},
            .server_part = true,
            .build = build_fedadam};
}

}  // namespace fedhive::sim
