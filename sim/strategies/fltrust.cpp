// FLTrust: X. Cao, M. Fang, J. Liu, N. Z. Gong 2021, "FLTrust: Byzantine-robust Federated Learning via Trust Bootstrapping", NDSS,
// arXiv:2012.13995.
//
//   clients and the server train as in FedAvg, the server on data.root_examples;  with their updates u_k and r
//   t_k <- max(0, cos(u_k, r));  w_{t+1} <- w_t + α Σ t_k (|r| / |u_k|) u_k / Σ t_k
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec fltrust() {
    return {
        .name = "fltrust",
        .source = "Cao et al. 2021 (arXiv:2012.13995)",
        .note =
            "The server trains on examples that no client has, `data.root_examples` of them, as clients train. Each update is "
            "brought to the length of the server's own and weighed by its cosine with it; one that points away from it does "
            "not "
            "count. If none points its way, the model stays. The global rate of the paper (α) is `server_lr`. `weighting` is "
            "accepted but has no effect. `training.clients_per_slot` must be 1.",
        .default_weighting = Weighting::Uniform,
        .aggregator = "root_trust"};
}

}  // namespace fedhive::sim
