// The CUDA side of batches: raw device pointers, C++17; work goes to the stream of aggregation/math/kernels.h.
#pragma once

#include "clients/data/gather_element.h"

namespace fedhive::clients::kernels {

/// values: [rows, num_values]. What CUDA says of a failed launch; nullptr when all went well.
const char* gather(const element::GatherTerms& from, std::size_t rows, float* values, const element::TargetsTo& to);

}  // namespace fedhive::clients::kernels
