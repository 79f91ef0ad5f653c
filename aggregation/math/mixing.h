// Asynchronous federated optimisation: the server mixes each client's model into its own as it arrives.
//
// Source   Xie et al. 2019, "Asynchronous Federated Optimization" (arXiv:1903.03934), Algorithm 1, server:
//              alpha_t <- alpha * s(t - tau);  x_t <- (1 - alpha_t) * x_(t-1) + alpha_t * x_new
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/math/server_optimizer.h"

#include <memory>

namespace fedhive::aggregation {

/// The aggregate has the values of the round's only update, and as its weight that update's discount s(tau), which is scale / weight
/// (Update in aggregator.h). finish() throws Fault unless there was exactly one update.
std::unique_ptr<Aggregator> make_single_update();

/// next = (1 - rate) * global + rate * aggregate with rate = f32(alpha * aggregate.weight); next = aggregate exactly if rate is 1.
/// 0 < alpha <= 1.
std::unique_ptr<ServerOptimizer> make_server_mix(double alpha);

}  // namespace fedhive::aggregation
