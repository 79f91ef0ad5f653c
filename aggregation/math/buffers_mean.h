// A model's buffers in a server step: statistics, which have no gradient that an optimiser could follow.
#pragma once

#include "aggregation/math/server_optimizer.h"

#include <cstddef>
#include <memory>

namespace fedhive::aggregation {

/// `optimizer`, and then for all from `num_trainable` on next = global + aggregate: the rule's own mean of them, whatever the optimiser makes
/// of a direction.
///
/// Differs  Reddi et al. 2021 (arXiv:2003.00295) step along whatever clients send; a second moment, say, would scale a variance below 0.
std::unique_ptr<ServerOptimizer> make_buffers_mean(std::unique_ptr<ServerOptimizer> optimizer, std::size_t num_trainable);

}  // namespace fedhive::aggregation
