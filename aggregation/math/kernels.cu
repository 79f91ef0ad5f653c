#include "aggregation/math/kernels.h"

#include "aggregation/math/column_ops.h"

#include <cuda_runtime.h>

namespace fedhive::aggregation::kernels {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxBlocks = 1U << 20;

unsigned blocks_for(std::size_t items) {
    const std::size_t blocks = (items + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

thread_local cudaStream_t current_stream = cudaStreamLegacy;

/// An error that is told does not stay in the runtime, where the next launch, LibTorch's too, would be blamed for it.
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

/// body(i) for each i < size, one thread an element.
template <typename Body>
CudaError for_each(std::size_t size, Body body) {
    if (size == 0) return nullptr;
    for_each_kernel<<<blocks_for(size), kThreads, 0, current_stream>>>(size, body);
    return error_text(cudaGetLastError());
}

template <typename Body>
__global__ void for_each_of_rows_kernel(std::size_t rows, std::size_t width, Body body) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y)
        for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < width; i += stride) body(row, i);
}

/// body(row, i) for each row < rows and i < width.
template <typename Body>
CudaError for_each_of_rows(std::size_t rows, std::size_t width, Body body) {
    constexpr std::size_t kMaxRows = 65535;  // of a grid
    if (rows == 0 || width == 0) return nullptr;
    const dim3 grid(blocks_for(width), static_cast<unsigned>(rows < kMaxRows ? rows : kMaxRows));
    for_each_of_rows_kernel<<<grid, kThreads, 0, current_stream>>>(rows, width, body);
    return error_text(cudaGetLastError());
}

template <std::size_t Rows>
CudaError median_in_registers(float* out, const float* const* values, std::size_t count, std::size_t size) {
    return for_each(size, [=] __device__(std::size_t i) { out[i] = element::median_in_registers<Rows>(values, count, i); });
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

/// Delivers each element of an update, and sums one chunk by one warp: lane l holds the elements l, l + 32, …; lanes are then halved like on
/// the host.
template <typename Deliver>
__global__ void make_update_kernel(const float* local, const float* global, std::size_t size, element::ChunkSummary* chunks,
                                   Deliver deliver) {
    constexpr unsigned kAll = 0xFFFFFFFFU;
    const std::size_t chunk = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / element::kLanes;
    const unsigned lane = threadIdx.x % element::kLanes;
    const std::size_t first = chunk * element::kChunk;
    if (first >= size) return;  // whole warps only
    const std::size_t end = first + element::kChunk < size ? first + element::kChunk : size;
    element::ChunkSummary sum;
    std::uint32_t hash = 0;
#pragma unroll 8  // several loads at once on their way
    for (std::size_t i = first + lane; i < end; i += element::kLanes) {
        const float value = local[i] - global[i];
        deliver(i, value);
        sum.squares += element::square(value);
        hash = element::hashed(hash, value);
    }
    sum.hash = element::hash_of_lane(hash, first + lane);
    for (unsigned half = element::kLanes / 2; half > 0; half /= 2) {
        sum.squares += __shfl_down_sync(kAll, sum.squares, half);
        sum.hash += __shfl_down_sync(kAll, static_cast<unsigned long long>(sum.hash), half);
    }
    sum.not_finite = element::not_finite(sum.squares);
    if (lane == 0) chunks[chunk] = sum;
}

/// Totals of all chunks, in their order, by one warp: it fetches 32 at a time, and its first lane adds them up.
__global__ void add_chunks_kernel(const element::ChunkSummary* chunks, std::size_t num_chunks, element::ChunkSummary* totals) {
    __shared__ double squares[element::kLanes];
    __shared__ std::uint64_t hashes[element::kLanes];
    __shared__ std::uint32_t not_finite[element::kLanes];
    element::ChunkSummary sum;
    for (std::size_t first = 0; first < num_chunks; first += element::kLanes) {
        const std::size_t count = first + element::kLanes < num_chunks ? element::kLanes : num_chunks - first;
        if (threadIdx.x < count) {
            const element::ChunkSummary mine = chunks[first + threadIdx.x];
            squares[threadIdx.x] = mine.squares;
            hashes[threadIdx.x] = mine.hash;
            not_finite[threadIdx.x] = mine.not_finite;
        }
        __syncwarp();
        if (threadIdx.x == 0)
            for (std::size_t i = 0; i < count; ++i) element::add_chunk(sum, {squares[i], hashes[i], not_finite[i]});
        __syncwarp();
    }
    if (threadIdx.x == 0) *totals = sum;
}

/// totals: nullptr: at the beginning of the scratch memory.
template <typename Deliver>
cudaError_t enqueue_update(const float* local, const float* global, std::size_t size, element::ChunkSummary* totals,
                           Deliver deliver) {
    const std::size_t num_chunks = (size + element::kChunk - 1) / element::kChunk;
    const cudaError_t error = scratch.reserve((1 + num_chunks) * sizeof(element::ChunkSummary));
    if (error != cudaSuccess) return error;
    auto* const first = scratch.at<element::ChunkSummary>(0);
    constexpr std::size_t kWarps = kThreads / element::kLanes;
    if (num_chunks > 0)
        make_update_kernel<<<static_cast<unsigned>((num_chunks + kWarps - 1) / kWarps), kThreads, 0, current_stream>>>(
            local, global, size, first + 1, deliver);
    add_chunks_kernel<<<1, element::kLanes, 0, current_stream>>>(first + 1, num_chunks, totals == nullptr ? first : totals);
    return cudaGetLastError();
}

}  // namespace

CudaError copy(float* to, const float* from, std::size_t size) {
    return error_text(cudaMemcpyAsync(to, from, size * sizeof(float), cudaMemcpyDefault, current_stream));
}

CudaError set_zero(float* to, std::size_t size) {
    return error_text(cudaMemsetAsync(to, 0, size * sizeof(float), current_stream));
}

CudaError synchronize() { return error_text(cudaDeviceSynchronize()); }

void* stream() { return current_stream; }

void set_stream(void* stream) { current_stream = static_cast<cudaStream_t>(stream); }

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

CudaError sgd_of_rows(Rows parameters, Rows gradients, Rows velocity, const float* counts, std::size_t rows, std::size_t width,
                      float lr, float momentum, float weight_decay, bool nesterov) {
    if (momentum == 0.0F)
        return for_each_of_rows(rows, width, [=] __device__(std::size_t row, std::size_t i) {
            if (counts[row] == 0.0F) return;
            element::sgd(parameters.data[row * parameters.stride + i], gradients.data[row * gradients.stride + i], lr,
                         weight_decay);
        });
    return for_each_of_rows(rows, width, [=] __device__(std::size_t row, std::size_t i) {
        if (counts[row] == 0.0F) return;
        element::sgd_momentum(parameters.data[row * parameters.stride + i], gradients.data[row * gradients.stride + i],
                              velocity.data[row * velocity.stride + i], lr, momentum, weight_decay, nesterov);
    });
}

CudaError proximal_of_rows(Rows gradients, Rows local, const float* global, std::size_t rows, std::size_t width, float mu) {
    return for_each_of_rows(rows, width, [=] __device__(std::size_t row, std::size_t i) {
        element::proximal(gradients.data[row * gradients.stride + i], local.data[row * local.stride + i], global[i], mu);
    });
}

CudaError scale(float* to, const float* from, std::size_t size, double weight) {
    return for_each(size, [=] __device__(std::size_t i) { to[i] = element::weighted(from[i], weight); });
}

CudaError add(float* to, const float* from, std::size_t size) {
    return for_each(size, [=] __device__(std::size_t i) { to[i] += from[i]; });
}

CudaError add_scaled(float* to, const float* from, std::size_t size, double weight) {
    return for_each(size, [=] __device__(std::size_t i) { to[i] += element::weighted(from[i], weight); });
}

CudaError write_update(float* update, const float* local, const float* global, std::size_t size,
                       element::ChunkSummary* totals) {
    return error_text(
        enqueue_update(local, global, size, totals, [=] __device__(std::size_t i, float value) { update[i] = value; }));
}

CudaError scale_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                       element::ChunkSummary* totals) {
    return error_text(enqueue_update(local, global, size, totals,
                                     [=] __device__(std::size_t i, float value) { to[i] = element::weighted(value, weight); }));
}

CudaError add_scaled_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                            element::ChunkSummary* totals) {
    return error_text(enqueue_update(local, global, size, totals, [=] __device__(std::size_t i, float value) {
        to[i] += element::weighted(value, weight);
    }));
}

CudaError write_update_and_wait(float* update, const float* local, const float* global, std::size_t size,
                                element::ChunkSummary& totals) {
    cudaError_t error =
        enqueue_update(local, global, size, nullptr, [=] __device__(std::size_t i, float value) { update[i] = value; });
    if (error == cudaSuccess) error = cudaMemcpy(&totals, scratch.at<void>(0), sizeof totals, cudaMemcpyDeviceToHost);
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
    const std::size_t depth = element::tree_depth(terms.folds, terms.count);
    bool aligned = reinterpret_cast<std::uintptr_t>(out) % sizeof(element::FourFloats) == 0;
    for (std::size_t k = 0; k < terms.count; ++k)
        aligned = aligned && reinterpret_cast<std::uintptr_t>(terms.values[k]) % sizeof(element::FourFloats) == 0;
    const std::size_t fours = aligned && depth <= 16 ? size / 4 : 0;
    CudaError failed =
        depth <= 8 ? for_each(fours, [=] __device__(std::size_t i) { element::tree_mean_of_four<8>(out, on_device, i); })
                   : for_each(fours, [=] __device__(std::size_t i) { element::tree_mean_of_four<16>(out, on_device, i); });
    if (failed != nullptr) return failed;
    return for_each(size - 4 * fours,
                    [=] __device__(std::size_t i) { element::tree_mean<1>(out + 4 * fours + i, on_device, 4 * fours + i, 1); });
}

CudaError median(float* out, const float* const* updates, std::size_t count, std::size_t size) {
    cudaError_t error = scratch.reserve(count * sizeof(float*));
    if (error == cudaSuccess) error = cudaMemcpy(scratch.at<void>(0), updates, count * sizeof(float*), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error_text(error);
    const auto* values = scratch.at<const float*>(0);
    if (count <= 4) return median_in_registers<4>(out, values, count, size);
    if (count <= 8) return median_in_registers<8>(out, values, count, size);
    if (count <= 16) return median_in_registers<16>(out, values, count, size);
    if (count <= 32) return median_in_registers<32>(out, values, count, size);
    if (count <= 64) return median_in_registers<64>(out, values, count, size);
    return for_each(size, [=] __device__(std::size_t i) { out[i] = element::median_by_bisection(values, count, i); });
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
