// The server's step when workers have already stepped: replicas that average their gradients end a round with identical models.
#pragma once

#include "aggregation/math/server_optimizer.h"

#include <memory>

namespace fedhive::aggregation {

/// next = aggregate; velocity = arrived_velocity, the replicas' momentum. Both spans are empty without momentum. `velocity` is
/// the rule's moment; both spans must outlive the rule.
std::unique_ptr<ServerOptimizer> make_server_copy(ParamSpan velocity, ConstParamSpan arrived_velocity);

}  // namespace fedhive::aggregation
