// The server's step where the workers have stepped already: replicas that average their gradients end a round with one and the same model.
#pragma once

#include "aggregation/math/server_optimizer.h"

#include <memory>

namespace fedhive::aggregation {

/// next = aggregate, and the replicas' momentum that goes with it: velocity = arrived_velocity. Both empty without momentum. The first is the
/// rule's moment; all spans must outlive it.
std::unique_ptr<ServerOptimizer> make_server_copy(ParamSpan velocity, ConstParamSpan arrived_velocity);

}  // namespace fedhive::aggregation
