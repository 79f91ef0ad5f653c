// Zeno, to first order: C. Xie, O. Koyejo, I. Gupta 2019, "Zeno: Distributed Stochastic Gradient Descent with Suspicion-based
// Fault-tolerance", ICML, arXiv:1805.10032; the first order as in "Zeno++: Robust Fully Asynchronous SGD", arXiv:1903.07020.
//
//   clients and the server train as in FedAvg, the server on data.root_examples;  with their updates u_k and r
//   score(k) = ⟨u_k, r⟩ - ρ |u_k|²  (the papers: the decrease of the server's loss by the step - ρ |step|²)
//   w_{t+1} <- w_t + mean of the n - b updates with the highest scores
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

StrategySpec zeno() {
    return {.name = "zeno",
            .source = "Xie et al. 2019 (arXiv:1805.10032), to first order as in Zeno++ (arXiv:1903.07020)",
            .note =
                "The server trains on examples that no client has, `data.root_examples` of them, as clients train. An update's "
                "score "
                "is its inner product with the server's own, less `penalty` times its squared norm; the mean leaves out the "
                "`byzantine` updates with the lowest scores. The papers score by the loss on the server's examples or by its "
                "gradient; here the server's update takes their place, and no loss is evaluated. `weighting` is accepted but "
                "has no "
                "effect. `training.clients_per_slot` must be 1.",
            .default_weighting = Weighting::Uniform,
            .aggregator = "root_score"};
}

}  // namespace fedhive::sim
