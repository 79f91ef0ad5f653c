// The server's optimiser for a model that is trained by gradients: the server steps it for all workers.
#pragma once

#include "aggregation/math/server_optimizer.h"
#include "aggregation/math/vector_ops.h"

#include <memory>

namespace fedhive::aggregation {

/// next = global after one sgd_step with the aggregate as gradient. With momentum, the moment is the velocity.
///
/// Source   the server of Li et al. 2014, "Scaling distributed machine learning with the parameter server" (OSDI), Algorithm 1,
///          with torch.optim.SGD's step.
std::unique_ptr<ServerOptimizer> make_gradient_step(const SgdOptions& options);

}  // namespace fedhive::aggregation
