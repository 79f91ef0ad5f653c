// The server optimiser of mode parameter_server: workers send gradients, and the server takes each step.
#pragma once

#include "aggregation/math/server_optimizer.h"
#include "aggregation/math/vector_ops.h"

#include <memory>

namespace fedhive::aggregation {

/// next = `global` after one sgd_step (vector_ops.h) whose gradient is the aggregate. With momentum, the moment is the velocity.
///
/// Source   the server of Li et al. 2014, "Scaling distributed machine learning with the parameter server" (OSDI), Algorithm 1,
///          with torch.optim.SGD's step.
std::unique_ptr<ServerOptimizer> make_gradient_step(const SgdOptions& options);

}  // namespace fedhive::aggregation
