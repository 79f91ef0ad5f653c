// The interface of the server's step, which turns an aggregate (a direction of progress, local - global) into the next global model.
// It is implemented by formulas (formulas/formula_server.h) and by modes with a rule of their own (mixing.h, server_copy.h).
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/param_buffer.h"

#include <vector>

namespace fedhive::aggregation {

/// A vector that a rule keeps from one step to the next.
struct Moment {
    const char* name = "";
    ParamSpan values;  // [P]
};

class ServerOptimizer {
public:
    ServerOptimizer() = default;
    ServerOptimizer(const ServerOptimizer&) = delete;
    ServerOptimizer& operator=(const ServerOptimizer&) = delete;
    virtual ~ServerOptimizer() = default;

    /// next = global + step(aggregate). The first call allocates and initialises the moments. All spans are as long as `global`, in one
    /// memory space; `next` must not be `global`. Throws ShapeError.
    virtual void step(ParamSpan next, ConstParamSpan global, const Aggregate& aggregate) = 0;

    /// The rule's moments: a checkpoint reads them, a resumed run writes them. Before the first step they have their initial
    /// values; empty for a rule without moments. Throws ShapeError if an earlier step had spans of another size or space.
    virtual std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) = 0;
};

}  // namespace fedhive::aggregation
