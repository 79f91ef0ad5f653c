// The CUDA side of vector_ops, row_ops, mean, median and the server optimisers: raw device pointers, C++17. Work runs on the
// legacy default stream unless set_stream() chooses another; no atomics, so that every sum has a fixed order. Callers go
// through dispatch.h and have checked the sizes.
#pragma once

#include "aggregation/math/element_ops.h"

namespace fedhive::aggregation::kernels {

/// CUDA's text for a failed call or launch; nullptr on success.
using CudaError = const char*;

CudaError copy(float* to, const float* from, std::size_t size);  // either side may be host memory
CudaError set_zero(float* to, std::size_t size);
CudaError synchronize();

/// This thread's stream, a cudaStream_t. It is changed while work is recorded into a CUDA graph, and restored afterwards.
void* stream();
void set_stream(void* stream);

CudaError sgd(float* parameters, const float* gradient, std::size_t size, float lr, float weight_decay);
CudaError sgd_momentum(float* parameters, const float* gradient, float* velocity, std::size_t size, float lr, float momentum,
                       float weight_decay, bool nesterov);
CudaError adam(float* parameters, const float* gradient, float* m, float* v, std::size_t size,
               const element::AdamFactors& factors);
CudaError adagrad(float* parameters, const float* gradient, float* sum, std::size_t size, float lr, float weight_decay,
                  float epsilon);

/// Rows at a distance of `stride` floats.
struct StridedRows {
    float* data;
    std::size_t stride;
};

/// One kernel for all rows. Rows whose entry in `counts` (device memory) is 0 stay unchanged.
CudaError sgd_of_rows(StridedRows parameters, StridedRows gradients, StridedRows velocity, const float* counts,
                      std::size_t rows, std::size_t width, float lr, float momentum, float weight_decay, bool nesterov);

CudaError scale(float* to, const float* from, std::size_t size, double weight);
CudaError add(float* to, const float* from, std::size_t size);
CudaError add_scaled(float* to, const float* from, std::size_t size, double weight);

/// totals: memory that the device can write; valid once the stream has run the kernel.
CudaError write_update(float* update, const float* local, const float* global, std::size_t size, element::ChunkSummary* totals);
CudaError write_update_and_wait(float* update, const float* local, const float* global, std::size_t size,
                                element::ChunkSummary& totals);
CudaError scale_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                       element::ChunkSummary* totals);
CudaError add_scaled_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                            element::ChunkSummary* totals);

/// terms: arrays in host memory of pointers into device memory.
CudaError tree_mean(float* out, const element::TreeTerms& terms, std::size_t size);
CudaError median(float* out, const float* const* updates, std::size_t count, std::size_t size);

/// At least that much device memory for one call, which the next call overwrites.
CudaError reserve_scratch(std::size_t bytes, void** memory);

/// terms: as for tree_mean, without scales and total.
CudaError trimmed_mean(float* out, const element::TreeTerms& terms, std::size_t below, std::size_t above, bool around_median,
                       std::size_t size);
/// out: on entry the mean of the updates, on return the result of the sign rule (sign_rules.h).
CudaError by_signs(float* out, const float* const* updates, std::size_t count, float threshold, bool majority,
                   std::size_t size);
CudaError deviation(float* out, const float* const* updates, std::size_t count, std::size_t size);

/// values: host memory, [gram_values(count)]; rows: `count` pointers to device memory. Waits for the device.
CudaError gram(double* values, const float* const* rows, std::size_t count, std::size_t base, std::size_t columns);

CudaError server_mix(float* next, const float* global, const float* local, std::size_t size, float rate);

}  // namespace fedhive::aggregation::kernels
