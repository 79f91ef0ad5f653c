// FedFV: Z. Wang, X. Fan, J. Qi, C. Wen, C. Wang, R. Yu 2021, "Federated Learning with Fair Averaging", IJCAI, arXiv:2104.14937.
//
//   clients as in FedAvg;  w_{t+1} <- w_t + η |ū| g / |g|, g the mean of the updates without what points against others
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fedfv() {
    return {.name = "fedfv",
            .source = "Wang et al. 2021 (arXiv:2104.14937)",
            .note =
                "Updates lose their parts that point against others, first against those of small losses, so that no client "
                "gains at another's cost. Clients measure the loss of the model that they are sent. "
                "`training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "without_conflicts"};
}

}  // namespace fedhive::sim
