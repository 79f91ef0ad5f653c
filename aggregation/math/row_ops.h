// The client optimiser and the proximal term for many rows at once: one kernel for all of them on CUDA, where a launch costs more than a row.
// Memory, streams and exceptions as in vector_ops.h, and each row's bits are those of its functions.
#pragma once

#include "aggregation/math/vector_ops.h"

namespace fedhive::aggregation {

/// The same columns of many rows: `width` floats of each, a row's `stride` floats after those of the row before.
struct RowsSpan {
    float* data = nullptr;
    std::size_t rows = 0;
    std::size_t width = 0;
    std::size_t stride = 0;
    MemorySpace space = MemorySpace::Host;

    ParamSpan row(std::size_t index) const { return {data + index * stride, width, space}; }
};

/// sgd_step of each row whose count is not 0; the others stay as they are. Nothing of it depends on the counts but what the device reads, so
/// that it can be recorded.
///
/// Shapes   parameters, gradients: [rows, width]; velocity: the same, or nothing when momentum is 0; counts: [rows].
void sgd_step(const RowsSpan& parameters, const RowsSpan& gradients, const RowsSpan& velocity, ConstParamSpan counts,
              const SgdOptions& options);

/// add_proximal_gradient of each row. global: [width].
void add_proximal_gradient(const RowsSpan& gradients, const RowsSpan& local, ConstParamSpan global, float mu);

}  // namespace fedhive::aggregation
