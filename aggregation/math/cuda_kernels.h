// The CUDA side of the rules in this folder. Functions without a comment are those of vector_ops.h under a shorter name (sgd is sgd_step).
// Pointers are device pointers to `size` floats unless a comment says otherwise; C++17.
//
// Work runs on the legacy default stream unless set_stream() chooses another; no atomics, so that every sum has a fixed order. Callers go
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

/// Rows of a matrix: row i begins at data + i * stride (floats).
struct StridedRows {
    float* data;
    std::size_t stride;
};

/// sgd_step of each row in one kernel. Rows whose entry in `counts` is 0 stay unchanged.
CudaError sgd_of_rows(StridedRows parameters, StridedRows gradients, StridedRows velocity, const float* counts,
                      std::size_t rows, std::size_t width, float lr, float momentum, float weight_decay, bool nesterov);

CudaError scale(float* to, const float* from, std::size_t size, double weight);
CudaError add(float* to, const float* from, std::size_t size);
CudaError add_scaled(float* to, const float* from, std::size_t size, double weight);

/// update = local - global, and its summary in `totals`: host memory that the device can write, valid when the kernel has run.
CudaError write_update(float* update, const float* local, const float* global, std::size_t size, element::ChunkSummary* totals);
/// The same, waiting for the device; totals: ordinary memory.
CudaError write_update_and_wait(float* update, const float* local, const float* global, std::size_t size,
                                element::ChunkSummary& totals);
CudaError scale_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                       element::ChunkSummary* totals);
CudaError add_scaled_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                            element::ChunkSummary* totals);

/// The weighted mean of mean.h. The arrays of `terms` are in host memory; terms.values holds pointers to device memory.
CudaError tree_mean(float* out, const element::TreeTerms& terms, std::size_t size);
/// The median of median.h. updates: in host memory, `count` pointers to device memory; the same for by_signs, deviation and gram.
CudaError median(float* out, const float* const* updates, std::size_t count, std::size_t size);

/// *memory = at least `bytes` bytes of device memory, for one call: the next call may give the same memory again.
CudaError reserve_scratch(std::size_t bytes, void** memory);

/// The means of trimmed_mean.h. terms: as for tree_mean, without scales and total; the other numbers: as in column_ops.h.
CudaError trimmed_mean(float* out, const element::TreeTerms& terms, std::size_t below, std::size_t above, bool around_median,
                       std::size_t size);
/// The rules of sign_rules.h: majority, else robust_rate. out: on entry the mean of the updates, on return the rule's result.
CudaError by_signs(float* out, const float* const* updates, std::size_t count, float threshold, bool majority,
                   std::size_t size);
/// The standard deviation of each column (deviation.h).
CudaError deviation(float* out, const float* const* updates, std::size_t count, std::size_t size);

/// The inner products of gram.h. values: host memory, [gram_values(count)]. Waits for the device.
CudaError gram(double* values, const float* const* rows, std::size_t count, std::size_t base, std::size_t columns);

/// next = (1 - rate) * global + rate * local (mixing.h).
CudaError server_mix(float* next, const float* global, const float* local, std::size_t size, float rate);

}  // namespace fedhive::aggregation::kernels
