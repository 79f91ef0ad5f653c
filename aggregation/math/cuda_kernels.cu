#include "aggregation/math/cuda_kernels.h"

#include "aggregation/math/column_ops.h"

#include <cuda_runtime.h>

#include <type_traits>

namespace fedhive::aggregation::kernels {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxBlocks = 1U << 20;

unsigned blocks_for(std::size_t items) {
    const std::size_t blocks = (items + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

thread_local cudaStream_t current_stream = cudaStreamLegacy;

/// The error's text, or nullptr. Clears the runtime's last error, which the next launch would report otherwise, LibTorch's too.
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

constexpr unsigned kAtOnce = 4;  // elements of a thread whose loads are in progress together

template <std::size_t N>
struct From {
    const float* at[N];
};
template <std::size_t N>
struct To {
    float* at[N];
};

/// Distance in floats between rows, for each loaded span; 0: all rows share one row.
template <std::size_t N>
struct Strides {
    std::size_t of[N];
};

/// The kernel of map_rows(). All loads of a tile stand before its first store: spans may be identical, so that the compiler
/// cannot move a load before a store. Each element is loaded and stored by one thread.
template <std::size_t Loads, std::size_t Stores, typename Body>
__global__ void map_kernel(std::size_t rows, std::size_t size, const float* counts, From<Loads> from, Strides<Loads> strides,
                           To<Stores> to, Body body) {
    const std::size_t tile = std::size_t{kAtOnce} * blockDim.x;
    for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) {
        if (counts != nullptr && counts[row] == 0.0F) continue;
        for (std::size_t base = blockIdx.x * tile + threadIdx.x; base < size; base += gridDim.x * tile) {
            float values[kAtOnce][Loads] = {};
#pragma unroll
            for (unsigned e = 0; e < kAtOnce; ++e)
#pragma unroll
                for (std::size_t c = 0; c < Loads; ++c)
                    if (base + e * blockDim.x < size) values[e][c] = from.at[c][row * strides.of[c] + base + e * blockDim.x];
#pragma unroll
            for (unsigned e = 0; e < kAtOnce; ++e) {
                if (base + e * blockDim.x >= size) break;
                body(values[e]);
#pragma unroll
                for (std::size_t c = 0; c < Stores; ++c) to.at[c][row * strides.of[c] + base + e * blockDim.x] = values[e][c];
            }
        }
    }
}

/// For each row and each i < size: values[c] = from[c][i] for c < Loads; body(values); to[c][i] = values[c] for c < Stores.
/// `to` must be the first Stores spans of `from`. If there are counts, rows with count 0 are left out.
template <std::size_t Loads, std::size_t Stores, typename Body>
CudaError map_rows(std::size_t rows, std::size_t size, const float* counts, From<Loads> from, Strides<Loads> strides,
                   To<Stores> to, Body body) {
    constexpr std::size_t kMaxRows = 65535;  // limit of a grid's y dimension
    if (rows == 0 || size == 0) return nullptr;
    const dim3 grid(blocks_for((size + kAtOnce - 1) / kAtOnce), static_cast<unsigned>(rows < kMaxRows ? rows : kMaxRows));
    map_kernel<<<grid, kThreads, 0, current_stream>>>(rows, size, counts, from, strides, to, body);
    return error_text(cudaGetLastError());
}

template <std::size_t Loads, std::size_t Stores, typename Body>
CudaError map(std::size_t size, From<Loads> from, To<Stores> to, Body body) {
    return map_rows(1, size, nullptr, from, Strides<Loads>{}, to, body);
}

/// Calls body(i) for each i < size, in one thread for each element.
template <typename Body>
CudaError for_each(std::size_t size, Body body) {
    if (size == 0) return nullptr;
    for_each_kernel<<<blocks_for(size), kThreads, 0, current_stream>>>(size, body);
    return error_text(cudaGetLastError());
}

/// Device memory for the arguments and partial results of one call. It only grows; the process's end frees it. The next call
/// may reuse it, since work on one stream runs in order.
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

/// to[i] = deliver(local[i] - global[i], Adds ? to[i] : 0), and the summary of each chunk by one warp: lane l sums the elements
/// l, l + 32, …; lanes are then reduced by halves, as on the host. kRows rows are loaded before the first is stored.
template <typename Adds, typename Deliver>
__global__ void make_update_kernel(float* to, const float* local, const float* global, std::size_t size,
                                   element::ChunkSummary* chunks, Adds, Deliver deliver) {
    constexpr unsigned kAll = 0xFFFFFFFFU;
    constexpr unsigned kRows = 8;
    static_assert(element::kChunk % (kRows * element::kLanes) == 0);
    const std::size_t chunk = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / element::kLanes;
    const unsigned lane = threadIdx.x % element::kLanes;
    const std::size_t first = chunk * element::kChunk;
    if (first >= size) return;  // whole warps only
    const std::size_t end = first + element::kChunk < size ? first + element::kChunk : size;
    element::ChunkSummary sum;
    std::uint32_t hash = 0;
    for (std::size_t row = first + lane; row < end; row += kRows * element::kLanes) {
        float values[kRows] = {}, others[kRows] = {}, present[kRows] = {};
#pragma unroll
        for (unsigned r = 0; r < kRows; ++r) {
            const std::size_t i = row + r * element::kLanes;
            if (i >= end) continue;
            values[r] = local[i];
            others[r] = global[i];
            if (Adds::value) present[r] = to[i];
        }
#pragma unroll
        for (unsigned r = 0; r < kRows; ++r) {
            const std::size_t i = row + r * element::kLanes;
            if (i >= end) continue;
            const float value = values[r] - others[r];
            to[i] = deliver(value, present[r]);
            sum.squares += element::square(value);
            hash = element::hashed(hash, value);
        }
    }
    sum.hash = element::hash_of_lane(hash, first + lane);
    for (unsigned half = element::kLanes / 2; half > 0; half /= 2) {
        sum.squares += __shfl_down_sync(kAll, sum.squares, half);
        sum.hash += __shfl_down_sync(kAll, static_cast<unsigned long long>(sum.hash), half);
    }
    sum.not_finite = element::not_finite(sum.squares);
    if (lane == 0) chunks[chunk] = sum;
}

constexpr unsigned kRounds = 8;  // a warp loads 8 * 32 chunks together

/// Sums all chunks in one warp. The first lane adds squares in the chunks' order, since another order would not give the host's
/// bits; the next chunks are loaded meanwhile. Hashes and not_finite are integers, which each lane combines for its own chunks.
__global__ void add_chunks_kernel(const element::ChunkSummary* chunks, std::size_t num_chunks, element::ChunkSummary* totals) {
    constexpr unsigned kAll = 0xFFFFFFFFU;
    constexpr std::size_t kBatch = kRounds * element::kLanes;
    __shared__ double squares[kBatch];
    const unsigned lane = threadIdx.x;
    double mine[kRounds] = {};
    double sum = 0.0;
    std::uint64_t hash = 0;
    std::uint32_t not_finite = 0;
    const auto fetch = [&](std::size_t first) {
#pragma unroll
        for (unsigned r = 0; r < kRounds; ++r) {
            const std::size_t i = first + r * element::kLanes + lane;
            if (i >= num_chunks) continue;
            mine[r] = chunks[i].squares;
            hash += chunks[i].hash;
            not_finite |= chunks[i].not_finite;
        }
    };
    fetch(0);
    for (std::size_t first = 0; first < num_chunks; first += kBatch) {
#pragma unroll
        for (unsigned r = 0; r < kRounds; ++r) squares[r * element::kLanes + lane] = mine[r];
        __syncwarp();
        fetch(first + kBatch);
        const std::size_t count = num_chunks - first < kBatch ? num_chunks - first : kBatch;
        if (lane == 0)
#pragma unroll 32
            for (std::size_t i = 0; i < count; ++i) sum += squares[i];
        __syncwarp();
    }
    for (unsigned half = element::kLanes / 2; half > 0; half /= 2) {
        hash += __shfl_down_sync(kAll, static_cast<unsigned long long>(hash), half);
        not_finite |= __shfl_down_sync(kAll, not_finite, half);
    }
    if (lane == 0) *totals = {sum, hash, not_finite};
}

/// totals: nullptr means the beginning of the scratch memory.
template <bool Adds, typename Deliver>
cudaError_t enqueue_update(float* to, const float* local, const float* global, std::size_t size, element::ChunkSummary* totals,
                           Deliver deliver) {
    const std::size_t num_chunks = (size + element::kChunk - 1) / element::kChunk;
    const cudaError_t error = scratch.reserve((1 + num_chunks) * sizeof(element::ChunkSummary));
    if (error != cudaSuccess) return error;
    auto* const first = scratch.at<element::ChunkSummary>(0);
    constexpr std::size_t kWarps = kThreads / element::kLanes;
    if (num_chunks > 0)
        make_update_kernel<<<static_cast<unsigned>((num_chunks + kWarps - 1) / kWarps), kThreads, 0, current_stream>>>(
            to, local, global, size, first + 1, std::bool_constant<Adds>{}, deliver);
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
    return map(size, From<2>{{parameters, gradient}}, To<1>{{parameters}},
               [=] __device__(float* v) { element::sgd(v[0], v[1], lr, weight_decay); });
}

CudaError sgd_momentum(float* parameters, const float* gradient, float* velocity, std::size_t size, float lr, float momentum,
                       float weight_decay, bool nesterov) {
    return map(size, From<3>{{parameters, velocity, gradient}}, To<2>{{parameters, velocity}},
               [=] __device__(float* v) { element::sgd_momentum(v[0], v[2], v[1], lr, momentum, weight_decay, nesterov); });
}

CudaError adam(float* parameters, const float* gradient, float* m, float* v, std::size_t size,
               const element::AdamFactors& factors) {
    return map(size, From<4>{{parameters, m, v, gradient}}, To<3>{{parameters, m, v}},
               [=] __device__(float* x) { element::adam(x[0], x[3], x[1], x[2], factors); });
}

CudaError adagrad(float* parameters, const float* gradient, float* sum, std::size_t size, float lr, float weight_decay,
                  float epsilon) {
    return map(size, From<3>{{parameters, sum, gradient}}, To<2>{{parameters, sum}},
               [=] __device__(float* x) { element::adagrad(x[0], x[2], x[1], lr, weight_decay, epsilon); });
}

CudaError sgd_of_rows(StridedRows parameters, StridedRows gradients, StridedRows velocity, const float* counts,
                      std::size_t rows, std::size_t width, float lr, float momentum, float weight_decay, bool nesterov) {
    if (momentum == 0.0F)
        return map_rows(rows, width, counts, From<2>{{parameters.data, gradients.data}},
                        Strides<2>{{parameters.stride, gradients.stride}}, To<1>{{parameters.data}},
                        [=] __device__(float* v) { element::sgd(v[0], v[1], lr, weight_decay); });
    return map_rows(
        rows, width, counts, From<3>{{parameters.data, velocity.data, gradients.data}},
        Strides<3>{{parameters.stride, velocity.stride, gradients.stride}}, To<2>{{parameters.data, velocity.data}},
        [=] __device__(float* v) { element::sgd_momentum(v[0], v[2], v[1], lr, momentum, weight_decay, nesterov); });
}

CudaError scale(float* to, const float* from, std::size_t size, double weight) {
    return map(size, From<1>{{from}}, To<1>{{to}}, [=] __device__(float* v) { v[0] = element::weighted(v[0], weight); });
}

CudaError add(float* to, const float* from, std::size_t size) {
    return map(size, From<2>{{to, from}}, To<1>{{to}}, [] __device__(float* v) { v[0] += v[1]; });
}

CudaError add_scaled(float* to, const float* from, std::size_t size, double weight) {
    return map(size, From<2>{{to, from}}, To<1>{{to}}, [=] __device__(float* v) { v[0] += element::weighted(v[1], weight); });
}

CudaError write_update(float* update, const float* local, const float* global, std::size_t size,
                       element::ChunkSummary* totals) {
    return error_text(
        enqueue_update<false>(update, local, global, size, totals, [] __device__(float value, float) { return value; }));
}

CudaError scale_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                       element::ChunkSummary* totals) {
    return error_text(enqueue_update<false>(to, local, global, size, totals,
                                            [=] __device__(float value, float) { return element::weighted(value, weight); }));
}

CudaError add_scaled_update(float* to, const float* local, const float* global, std::size_t size, double weight,
                            element::ChunkSummary* totals) {
    return error_text(enqueue_update<true>(to, local, global, size, totals, [=] __device__(float value, float present) {
        return present + element::weighted(value, weight);
    }));
}

CudaError write_update_and_wait(float* update, const float* local, const float* global, std::size_t size,
                                element::ChunkSummary& totals) {
    cudaError_t error =
        enqueue_update<false>(update, local, global, size, nullptr, [] __device__(float value, float) { return value; });
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

CudaError reserve_scratch(std::size_t bytes, void** memory) {
    const cudaError_t error = scratch.reserve(bytes);
    *memory = scratch.at<void>(0);
    return error_text(error);
}

CudaError server_mix(float* next, const float* global, const float* local, std::size_t size, float rate) {
    return map(size, From<2>{{global, local}}, To<1>{{next}},
               [=] __device__(float* v) { v[0] = element::server_mix(v[0], v[1], rate); });
}

}  // namespace fedhive::aggregation::kernels
