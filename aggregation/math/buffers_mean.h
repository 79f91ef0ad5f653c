// The server step of a model's buffers. They are statistics without a gradient, so the server's optimiser leaves them alone.
#pragma once

#include "aggregation/math/server_optimizer.h"

#include <cstddef>
#include <memory>

namespace fedhive::aggregation {

/// next[i] = global[i] + aggregate[i] for i >= num_trainable (the buffers), after `optimizer` has stepped all elements. Buffers
/// thus get the aggregation rule's own mean, whatever step the optimiser makes of a direction.
///
/// Differs  Reddi et al. 2021 (arXiv:2003.00295) apply the optimiser to all that clients send; a second moment, for instance,
///          could move a variance below 0.
std::unique_ptr<ServerOptimizer> make_buffers_mean(std::unique_ptr<ServerOptimizer> optimizer, std::size_t num_trainable);

}  // namespace fedhive::aggregation
