// The SGD step for many clients at once; each client's vector is one row of a matrix. Each row gets the bits that the function of
// vector_ops.h would give it; memory, streams and exceptions are as there. On CUDA one kernel handles all rows, since a launch takes longer
// than one row's work.
#pragma once

#include "aggregation/math/vector_ops.h"

namespace fedhive::aggregation {

/// Rows of equal width in a larger matrix: row i is the `width` floats from data + i * stride.
struct RowsSpan {
    float* data = nullptr;
    std::size_t rows = 0;
    std::size_t width = 0;
    std::size_t stride = 0;
    MemorySpace space = MemorySpace::Host;

    ParamSpan row(std::size_t index) const { return {data + index * stride, width, space}; }
};

/// sgd_step of each row whose count is not 0; other rows stay unchanged. Only the device reads the counts, so that the call can
/// be recorded into a CUDA graph.
///
/// Shapes   parameters, gradients: [rows, width]; velocity: [rows, width], empty when momentum is 0; counts: [rows].
void sgd_step(const RowsSpan& parameters, const RowsSpan& gradients, const RowsSpan& velocity, ConstParamSpan counts,
              const SgdOptions& options);

}  // namespace fedhive::aggregation
