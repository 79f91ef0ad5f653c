// The CUDA side of median, trimmed_mean, sign_rules, deviation and gram; cuda_kernels.h says what all kernels have in common.
#include "aggregation/math/column_ops.h"
#include "aggregation/math/cuda_kernels.h"
#include "aggregation/math/gram_lane.h"

#include <cuda_runtime.h>

namespace fedhive::aggregation::kernels {

namespace {

/// The error's text, or nullptr. Clears the runtime's last error, which the next launch would report otherwise.
CudaError error_text(cudaError_t error) {
    if (error == cudaSuccess) return nullptr;
    cudaGetLastError();
    return cudaGetErrorString(error);
}

template <typename Body>
__global__ void for_each_kernel(std::size_t size, Body body) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size; i += stride) body(i);
}

/// Calls body(i) for each i < size, in one thread for each element.
template <typename Body>
CudaError for_each(std::size_t size, Body body) {
    constexpr std::size_t kThreads = 256, kMostBlocks = 1U << 20;
    if (size == 0) return nullptr;
    const std::size_t blocks = (size + kThreads - 1) / kThreads;
    for_each_kernel<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0,
                      static_cast<cudaStream_t>(stream())>>>(size, body);
    return error_text(cudaGetLastError());
}

template <std::size_t Rows>
CudaError median_in_registers(float* out, const float* const* values, std::size_t count, std::size_t size) {
    return for_each(size, [=] __device__(std::size_t i) { out[i] = element::median_in_registers<Rows>(values, count, i); });
}

/// The arguments and partial results of one call, in the memory that all calls share.
class Scratch {
public:
    CudaError reserve(std::size_t bytes) { return reserve_scratch(bytes, &memory_); }
    template <typename T>
    T* at(std::size_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(memory_) + offset);
    }

private:
    void* memory_ = nullptr;
};

}  // namespace

CudaError median(float* out, const float* const* updates, std::size_t count, std::size_t size) {
    Scratch scratch;
    if (const CudaError failed = scratch.reserve(count * sizeof(float*)); failed != nullptr) return failed;
    const cudaError_t error = cudaMemcpy(scratch.at<void>(0), updates, count * sizeof(float*), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    const auto* values = scratch.at<const float*>(0);
    if (count <= 4) return median_in_registers<4>(out, values, count, size);
    if (count <= 8) return median_in_registers<8>(out, values, count, size);
    if (count <= 16) return median_in_registers<16>(out, values, count, size);
    if (count <= 32) return median_in_registers<32>(out, values, count, size);
    if (count <= 64) return median_in_registers<64>(out, values, count, size);
    return for_each(size, [=] __device__(std::size_t i) { out[i] = element::median_by_bisection(values, count, i); });
}

CudaError trimmed_mean(float* out, const element::TreeTerms& terms, std::size_t below, std::size_t above, bool around_median,
                       std::size_t size) {
    const std::size_t folds_at = terms.count * sizeof(float*);
    Scratch scratch;
    if (const CudaError failed = scratch.reserve(folds_at + terms.count); failed != nullptr) return failed;
    cudaError_t error = cudaMemcpy(scratch.at<void>(0), terms.values, folds_at, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) error = cudaMemcpy(scratch.at<void>(folds_at), terms.folds, terms.count, cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    element::TreeTerms on_device = terms;
    on_device.values = scratch.at<const float*>(0);
    on_device.folds = scratch.at<std::uint8_t>(folds_at);
    return for_each(
        size, [=] __device__(std::size_t i) { out[i] = element::trimmed_mean(on_device, below, above, around_median, i); });
}

CudaError by_signs(float* out, const float* const* updates, std::size_t count, float threshold, bool majority,
                   std::size_t size) {
    Scratch scratch;
    if (const CudaError failed = scratch.reserve(count * sizeof(float*)); failed != nullptr) return failed;
    const cudaError_t error = cudaMemcpy(scratch.at<void>(0), updates, count * sizeof(float*), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    const auto* values = scratch.at<const float*>(0);
    return for_each(size, [=] __device__(std::size_t i) {
        float signs = 0.0F;
        for (std::size_t k = 0; k < count; ++k) signs += element::sign(values[k][i]);
        out[i] = majority ? element::sign(signs) : element::robust_rate(out[i], signs, threshold);
    });
}

CudaError deviation(float* out, const float* const* updates, std::size_t count, std::size_t size) {
    Scratch scratch;
    if (const CudaError failed = scratch.reserve(count * sizeof(float*)); failed != nullptr) return failed;
    const cudaError_t error = cudaMemcpy(scratch.at<void>(0), updates, count * sizeof(float*), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    const auto* values = scratch.at<const float*>(0);
    return for_each(size, [=] __device__(std::size_t i) { out[i] = element::column_deviation(values, count, i); });
}

CudaError gram(double* values, const float* const* rows, std::size_t count, std::size_t base, std::size_t columns) {
    constexpr std::size_t kChunk = 1024, kLanes = 16;
    const std::size_t pairs = count * (count + 1) / 2 + count, chunks = (columns + kChunk - 1) / kChunk;
    const std::size_t lanes_at = (count * sizeof(float*) + 15) / 16 * 16;
    const std::size_t sums_at = lanes_at + pairs * chunks * kLanes * sizeof(float);
    Scratch scratch;
    if (const CudaError failed = scratch.reserve(sums_at + pairs * sizeof(double)); failed != nullptr) return failed;
    const cudaError_t error = cudaMemcpy(scratch.at<void>(0), rows, count * sizeof(float*), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    const auto* on_device = scratch.at<const float*>(0);
    auto* lanes = scratch.at<float>(lanes_at);
    auto* sums = scratch.at<double>(sums_at);
    // Neighbouring threads take the lanes of one pair, so that they read neighbouring columns.
    CudaError failed = for_each(pairs * chunks * kLanes, [=] __device__(std::size_t i) {
        const std::size_t chunk = i / (pairs * kLanes), pair = i / kLanes % pairs, first = chunk * kChunk;
        const std::size_t end = first + kChunk < columns ? first + kChunk : columns;
        lanes[(pair * chunks + chunk) * kLanes + i % kLanes] =
            element::gram_lane(on_device, element::gram_pair(pair, count), base, first, end, i % kLanes);
    });
    if (failed != nullptr) return failed;
    failed = for_each(pairs, [=] __device__(std::size_t pair) {
        double sum = 0.0;
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) sum += element::gram_sum(lanes + (pair * chunks + chunk) * kLanes);
        sums[pair] = sum;
    });
    if (failed != nullptr) return failed;
    return error_text(cudaMemcpy(values, sums, pairs * sizeof(double), cudaMemcpyDeviceToHost));
}

}  // namespace fedhive::aggregation::kernels
