#include "clients/direct/device/block_kernels.h"

#include "aggregation/math/cuda_kernels.h"

#include <cuda_runtime.h>

namespace fedhive::clients::direct::device::kernels {

namespace {

/// The threads of this block. nvcc also compiles their code for the host, where it is never called.
struct BlockThreads {
    __host__ __device__ std::uint32_t index() const {
#if defined(__CUDA_ARCH__) || !defined(__NVCC__)
        return threadIdx.x;
#else
        return 0;
#endif
    }
    __host__ __device__ constexpr std::uint32_t count() const { return kThreads; }
    __host__ __device__ void wait() const {
#if defined(__CUDA_ARCH__) || !defined(__NVCC__)
        __syncthreads();
#endif
    }
};

/// Layout of a block's shared memory: [ outcomes | parameters | gradient | velocity | values ]. With Launch::rows, outcomes and values are
/// in device memory instead, in this order.
class SharedMemory {
public:
    __device__ explicit SharedMemory(double* memory) : at_(reinterpret_cast<unsigned char*>(memory)) {}

    template <typename T>
    __device__ T* take(std::uint32_t count) {
        T* const taken = reinterpret_cast<T*>(at_);
        at_ += (count * sizeof(T) + 15) / 16 * 16;
        return taken;
    }
    /// `floats` floats of shared memory if `shared`, else the buffer `otherwise`.
    __device__ float* take_if(bool shared, std::uint32_t floats, float* otherwise) {
        return shared ? take<float>(floats) : otherwise;
    }

private:
    unsigned char* at_;
};

__device__ void place_rows(const Launch& launch, Workspace& work) {
    if (launch.rows == nullptr) return;
    float* const rows = launch.rows + blockIdx.x * launch.rows_stride;
    work.outcomes = reinterpret_cast<RowOutcome*>(rows);
    work.values = rows + launch.group * (sizeof(RowOutcome) / sizeof(float));
}

__global__ void __launch_bounds__(kThreads, 1) train_kernel(Launch launch, Training training) {
    extern __shared__ double memory[];
    const BlockThreads threads;
    const BlockNetwork& network = launch.network;
    const Client client = training.clients[blockIdx.x];
    const std::size_t row = blockIdx.x * training.stride;
    SharedMemory shared(memory);
    Workspace work;
    work.group = launch.group;
    work.outcomes = shared.take<RowOutcome>(launch.rows == nullptr ? launch.group : 0);
    work.parameters = shared.take_if(launch.shared_parameters, network.num_floats, training.local + row);
    work.gradient = shared.take_if(launch.shared_gradient, network.trainable, training.gradient + row);
    work.velocity = shared.take_if(launch.shared_velocity, network.trainable, training.velocity + row);
    work.values = shared.take<float>(0);
    place_rows(launch, work);
    const double loss = train(threads, network, work, launch.from, training.global, training.steps + client.first_step,
                              client.num_steps, training.descent);
    if (launch.shared_parameters) copy(threads, training.local + row, work.parameters, network.num_floats);
    if (threads.index() == 0) *client.loss_sum = loss;
}

__global__ void __launch_bounds__(kThreads, 1)
    gradient_kernel(Launch launch, float* parameters, BlockStep step, float* gradient, double* loss_sum) {
    extern __shared__ double memory[];
    const BlockThreads threads;
    SharedMemory shared(memory);
    Workspace work;
    work.group = launch.group;
    work.outcomes = shared.take<RowOutcome>(launch.rows == nullptr ? launch.group : 0);
    work.parameters = parameters;
    work.gradient = gradient;
    work.values = shared.take<float>(0);
    place_rows(launch, work);
    const double mean = compute_gradient(threads, launch.network, work, launch.from, step);
    if (threads.index() == 0) *loss_sum += mean * static_cast<double>(step.size);
}

__global__ void __launch_bounds__(kThreads, 1)
    evaluate_kernel(Launch launch, const float* parameters, std::uint32_t count, RowOutcome* outcomes) {
    extern __shared__ double memory[];
    const BlockThreads threads;
    const std::uint32_t first = blockIdx.x * launch.group;
    SharedMemory shared(memory);
    Workspace work;
    work.group = launch.group;
    work.outcomes = outcomes + first;
    shared.take<RowOutcome>(launch.group);
    work.values = shared.take<float>(0);
    evaluate(threads, launch.network, work, parameters, launch.from, first,
             count - first < launch.group ? count - first : launch.group);
}

cudaStream_t stream() { return static_cast<cudaStream_t>(aggregation::kernels::stream()); }

/// CUDA's text for `error`, null for success; clears the runtime's last error.
CudaError text_of(cudaError_t error) {
    if (error == cudaSuccess) return nullptr;
    cudaGetLastError();
    return cudaGetErrorString(error);
}

/// A kernel needs an explicit permission for more than 48 KiB of shared memory.
template <typename Kernel>
cudaError_t allow(Kernel kernel, const Launch& launch) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.shared_bytes));
}

}  // namespace

CudaError train(const Launch& launch, const Training& training) {
    if (training.num_clients == 0) return nullptr;
    if (const cudaError_t error = allow(train_kernel, launch); error != cudaSuccess) return text_of(error);
    train_kernel<<<training.num_clients, kThreads, launch.shared_bytes, stream()>>>(launch, training);
    return text_of(cudaGetLastError());
}

CudaError compute_gradient(const Launch& launch, float* parameters, const BlockStep& step, float* gradient, double* loss_sum) {
    if (const cudaError_t error = allow(gradient_kernel, launch); error != cudaSuccess) return text_of(error);
    gradient_kernel<<<1, kThreads, launch.shared_bytes, stream()>>>(launch, parameters, step, gradient, loss_sum);
    return text_of(cudaGetLastError());
}

CudaError evaluate(const Launch& launch, const float* parameters, std::uint32_t count, RowOutcome* outcomes) {
    if (count == 0) return nullptr;
    if (const cudaError_t error = allow(evaluate_kernel, launch); error != cudaSuccess) return text_of(error);
    evaluate_kernel<<<(count + launch.group - 1) / launch.group, kThreads, launch.shared_bytes, stream()>>>(launch, parameters,
                                                                                                            count, outcomes);
    return text_of(cudaGetLastError());
}

CudaError copy_bytes(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    return text_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()));
}

}  // namespace fedhive::clients::direct::device::kernels
