// CUDA kernels of batches: raw device pointers, C++17; work is enqueued on the stream of aggregation/math/cuda_kernels.h.
#pragma once

#include "clients/data/gather_element.h"

namespace fedhive::clients::kernels {

/// Gathers `rows` examples into values [rows, num_values] and `to`. Returns CUDA's message for a failed launch, else nullptr.
const char* gather(const element::GatherTerms& from, std::size_t rows, float* values, const element::TargetsTo& to);

}  // namespace fedhive::clients::kernels
