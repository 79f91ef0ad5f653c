// For server optimisers: the checks at the start of a step, and the allocation of moments (vectors that a rule keeps across steps).
#pragma once

#include "aggregation/math/dispatch.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <vector>

namespace fedhive::aggregation {

inline void check_spans(ParamSpan next, ConstParamSpan global, ConstParamSpan aggregate) {
    require_same(global, next, "next global model");
    require_same(global, aggregate, "aggregate");
    if (next.data == global.data) throw ShapeError("the next global model may not be written over the present one");
}

/// Allocates a moment at the first call and sets every element to `first`. Throws ShapeError if a later call has another shape.
inline ParamSpan prepare_moment(ParamBuffer& moment, ConstParamSpan global, float first = 0.0F) {
    if (moment.span().data == nullptr) {
        moment = ParamBuffer(global.size, global.space);
        if (first != 0.0F) {
            const std::vector<float> values(global.size, first);
            copy(moment, values);
            synchronize(global.space);  // before the values are gone
        }
    }
    require_same(global, moment, "server optimiser's moment");
    return moment;
}

}  // namespace fedhive::aggregation
