// The server's step of mode gradient_averaging: replicas (workers that train one model together) average their gradients in each local
// step and so end a round with identical models, one of which becomes the next global model.
#pragma once

#include "aggregation/math/server_optimizer.h"

#include <memory>

namespace fedhive::aggregation {

/// next = aggregate; velocity = arrived_velocity. `velocity` is the rule's moment, arrived_velocity the replicas' momentum; both spans are
/// empty without momentum, and both must outlive the rule.
std::unique_ptr<ServerOptimizer> make_server_copy(ParamSpan velocity, ConstParamSpan arrived_velocity);

}  // namespace fedhive::aggregation
