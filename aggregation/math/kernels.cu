#include "aggregation/math/kernels.h"

#include <cuda_runtime.h>

namespace fedhive::aggregation::kernels {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxBlocks = 1U << 20;

unsigned blocks_for(std::size_t items) {
    const std::size_t blocks = (items + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

CudaError error_text(cudaError_t error) { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }

template <typename Body>
__global__ void for_each_kernel(std::size_t size, Body body) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size; i += stride) body(i);
}

/// body(i) for each i < size, one thread an element.
template <typename Body>
CudaError for_each(std::size_t size, Body body) {
    if (size == 0) return nullptr;
    for_each_kernel<<<blocks_for(size), kThreads>>>(size, body);
    return error_text(cudaGetLastError());
}

/// Device memory for the arguments and partial results of one call. It only grows, and its process takes it along: work on the one stream
/// is in order, so the next call may use it again.
class Scratch {
public:
    cudaError_t reserve(std::size_t bytes) {
        if (bytes <= bytes_) return cudaSuccess;
        cudaFree(memory_);
        memory_ = nullptr;
        bytes_ = 0;
        const cudaError_t error = cudaMalloc(&memory_, bytes);
        if (error == cudaSuccess) bytes_ = bytes;
        return error;
    }
    template <typename T>
    T* at(std::size_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(memory_) + offset);
    }

private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

thread_local Scratch scratch;

/// Partial sums of one chunk by one warp: lane l holds the elements l, l + 32, …; lanes are then halved like on the host.
__global__ void write_update_kernel(float* update, const float* local, const float* global, std::size_t size,
                                    element::ChunkSummary* chunks) {
    constexpr unsigned kAll = 0xFFFFFFFFU;
    const std::size_t chunk = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / element::kLanes;
    const unsigned lane = threadIdx.x % element::kLanes;
    const std::size_t first = chunk * element::kChunk;
    if (first >= size) return;  // whole warps only
    const std::size_t end = first + element::kChunk < size ? first + element::kChunk : size;
    element::ChunkSummary sum;
    for (std::size_t i = first + lane; i < end; i += element::kLanes) {
        const float value = local[i] - global[i];
        update[i] = value;
        sum.squares += element::square(value);
        sum.hash += element::hash_term(value, i);
        sum.not_finite |= element::not_finite(value);
    }
    for (unsigned half = element::kLanes / 2; half > 0; half /= 2) {
        sum.squares += __shfl_down_sync(kAll, sum.squares, half);
        sum.hash += __shfl_down_sync(kAll, static_cast<unsigned long long>(sum.hash), half);
        sum.not_finite |= __shfl_down_sync(kAll, sum.not_finite, half);
    }
    if (lane == 0) chunks[chunk] = sum;
}

}  // namespace

CudaError copy(float* to, const float* from, std::size_t size) {
    return error_text(cudaMemcpyAsync(to, from, size * sizeof(float), cudaMemcpyDefault, cudaStreamLegacy));
}

CudaError set_zero(float* to, std::size_t size) {
    return error_text(cudaMemsetAsync(to, 0, size * sizeof(float), cudaStreamLegacy));
}

CudaError synchronize() { return error_text(cudaDeviceSynchronize()); }

CudaError sgd(float* parameters, const float* gradient, std::size_t size, float lr, float weight_decay) {
    return for_each(size, [=] __device__(std::size_t i) { element::sgd(parameters[i], gradient[i], lr, weight_decay); });
}

CudaError sgd_momentum(float* parameters, const float* gradient, float* velocity, std::size_t size, float lr, float momentum,
                       float weight_decay, bool nesterov) {
    return for_each(size, [=] __device__(std::size_t i) {
        element::sgd_momentum(parameters[i], gradient[i], velocity[i], lr, momentum, weight_decay, nesterov);
    });
}

CudaError proximal(float* gradient, const float* local, const float* global, std::size_t size, float mu) {
    return for_each(size, [=] __device__(std::size_t i) { element::proximal(gradient[i], local[i], global[i], mu); });
}

CudaError scale(float* to, const float* from, std::size_t size, double weight) {
    return for_each(size, [=] __device__(std::size_t i) { to[i] = element::weighted(from[i], weight); });
}

CudaError add(float* to, const float* from, std::size_t size) {
    return for_each(size, [=] __device__(std::size_t i) { to[i] += from[i]; });
}

CudaError write_update(float* update, const float* local, const float* global, std::size_t size,
                       element::ChunkSummary* chunks) {
    if (size == 0) return nullptr;
    const std::size_t num_chunks = (size + element::kChunk - 1) / element::kChunk;
    const std::size_t bytes = num_chunks * sizeof(element::ChunkSummary);
    cudaError_t error = scratch.reserve(bytes);
    if (error != cudaSuccess) return error_text(error);
    auto* partial = scratch.at<element::ChunkSummary>(0);
    constexpr std::size_t kWarps = kThreads / element::kLanes;
    write_update_kernel<<<static_cast<unsigned>((num_chunks + kWarps - 1) / kWarps), kThreads>>>(update, local, global, size,
                                                                                                 partial);
    error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaMemcpy(chunks, partial, bytes, cudaMemcpyDeviceToHost);
    return error_text(error);
}

CudaError tree_mean(float* out, const element::TreeTerms& terms, std::size_t size) {
    // [ pointers | scales | folds ]
    const std::size_t scales_at = terms.count * sizeof(float*);
    const std::size_t folds_at = scales_at + terms.count * sizeof(double);
    cudaError_t error = scratch.reserve(folds_at + terms.count);
    element::TreeTerms on_device = terms;
    on_device.values = scratch.at<const float*>(0);
    on_device.scales = scratch.at<double>(scales_at);
    on_device.folds = scratch.at<std::uint8_t>(folds_at);
    if (error == cudaSuccess) error = cudaMemcpy(scratch.at<void>(0), terms.values, scales_at, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error = cudaMemcpy(scratch.at<void>(scales_at), terms.scales, folds_at - scales_at, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) error = cudaMemcpy(scratch.at<void>(folds_at), terms.folds, terms.count, cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    return for_each(size, [=] __device__(std::size_t i) { element::tree_mean<1>(out + i, on_device, i, 1); });
}

CudaError median(float* out, const float* const* updates, std::size_t count, std::size_t size) {
    cudaError_t error = scratch.reserve(count * sizeof(float*));
    if (error == cudaSuccess) error = cudaMemcpy(scratch.at<void>(0), updates, count * sizeof(float*), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    const auto* values = scratch.at<const float*>(0);
    return for_each(size, [=] __device__(std::size_t i) { out[i] = element::median_by_rank(values, count, i); });
}

CudaError server_sgd(float* next, const float* global, const float* aggregate, std::size_t size, float lr) {
    return for_each(size, [=] __device__(std::size_t i) { next[i] = element::server_sgd(global[i], aggregate[i], lr); });
}

CudaError server_momentum(float* next, const float* global, const float* aggregate, float* velocity, std::size_t size, float lr,
                          float momentum) {
    return for_each(size, [=] __device__(std::size_t i) {
        next[i] = element::server_momentum(global[i], aggregate[i], velocity[i], lr, momentum);
    });
}

CudaError server_mix(float* next, const float* global, const float* local, std::size_t size, float rate) {
    return for_each(size, [=] __device__(std::size_t i) { next[i] = element::server_mix(global[i], local[i], rate); });
}

CudaError server_adam(float* next, const float* global, const float* aggregate, float* m, float* v, std::size_t size, float lr,
                      float beta1, float beta2, float tau) {
    return for_each(size, [=] __device__(std::size_t i) {
        next[i] = element::server_adam(global[i], aggregate[i], m[i], v[i], lr, beta1, beta2, tau);
    });
}

}  // namespace fedhive::aggregation::kernels
