// The sums u_k + h_k for inner products, a range of columns at a time: u_k is an update, h_k the sum of its client's earlier updates.
#pragma once

#include "aggregation/memory/param_buffer.h"
#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation {

class SumRows {
public:
    /// Columns first to first + count − 1 of values[k] + kept[k], one pointer a row; of values[k] alone where kept[k] is empty. Valid
    /// until the next call.
    ///
    /// Shapes   values, kept: K vectors of at least first + count floats; values in one memory space, kept in host memory.
    /// Memory   K × count floats in the space of `values`, if a kept[k] is not empty.
    std::span<const float* const> columns(std::span<const ConstParamSpan> values, std::span<const ConstParamSpan> kept,
                                          std::size_t first, std::size_t count);

private:
    ParamBuffer sums_;
    std::vector<const float*> rows_;
};

}  // namespace fedhive::aggregation
