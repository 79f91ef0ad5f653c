#include "aggregation/formulas/run_element.h"
#include "aggregation/math/cuda_kernels.h"

#include <cuda_runtime.h>

#include <vector>

namespace fedhive::aggregation::formulas::kernels {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxBlocks = 1U << 20;

__global__ void run_pass_kernel(const DevicePass pass, std::size_t first, std::size_t width) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    const VectorsOfPass vectors{pass, blockIdx.y};
    float registers[kMostRegisters];
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < width; i += stride)
        run_element(pass, vectors, registers, first + i);
}

/// The sum of each block of elements by one warp: lane l adds the elements l, l + 32, …; lanes are then added by halves.
__global__ void sum_kernel(double* sums, const DevicePass pass, Operand a, Operand b, std::size_t first, std::size_t width) {
    const std::size_t block = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / element::kLanes;
    const unsigned lane = threadIdx.x % element::kLanes;
    const std::size_t begin = block * element::kChunk;
    if (begin >= width) return;  // whole warps only
    const std::size_t end = begin + element::kChunk < width ? begin + element::kChunk : width;
    const VectorsOfPass vectors{pass};
    float registers[kMostRegisters];
    double sum = 0.0;
    for (std::size_t i = begin + lane; i < end; i += element::kLanes) {
        run_element(pass, vectors, registers, first + i);
        sum += static_cast<double>(value_of(pass, vectors, registers, a, first + i)) *
               static_cast<double>(value_of(pass, vectors, registers, b, first + i));
    }
    for (unsigned half = element::kLanes / 2; half > 0; half /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, half);
    if (lane == 0) sums[block] = sum;
}

unsigned blocks_for(std::size_t threads) {
    const std::size_t blocks = (threads + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

cudaStream_t stream() { return static_cast<cudaStream_t>(aggregation::kernels::stream()); }

const char* error_text(cudaError_t error) {
    if (error == cudaSuccess) return nullptr;
    cudaGetLastError();
    return cudaGetErrorString(error);
}

}  // namespace

const char* run_pass(const DevicePass& pass, std::size_t first, std::size_t width, std::size_t rows) {
    if (width == 0 || rows == 0) return nullptr;
    run_pass_kernel<<<dim3(blocks_for(width), static_cast<unsigned>(rows)), kThreads, 0, stream()>>>(pass, first, width);
    return error_text(cudaGetLastError());
}

const char* sum_of_products(double& sum, const DevicePass& pass, const Operand& a, const Operand& b, std::size_t first,
                            std::size_t width) {
    sum = 0.0;
    if (width == 0) return nullptr;
    const std::size_t blocks = (width + element::kChunk - 1) / element::kChunk;
    void* memory = nullptr;
    if (const char* const error = aggregation::kernels::reserve_scratch(blocks * sizeof(double), &memory)) return error;
    auto* const on_device = static_cast<double*>(memory);
    sum_kernel<<<blocks_for(blocks * element::kLanes), kThreads, 0, stream()>>>(on_device, pass, a, b, first, width);
    if (const char* const error = error_text(cudaGetLastError())) return error;
    std::vector<double> sums(blocks);
    const cudaError_t copied =
        cudaMemcpyAsync(sums.data(), on_device, blocks * sizeof(double), cudaMemcpyDeviceToHost, stream());
    if (copied != cudaSuccess) return error_text(copied);
    if (const cudaError_t done = cudaStreamSynchronize(stream()); done != cudaSuccess) return error_text(done);
    for (const double one : sums) sum += one;
    return nullptr;
}

}  // namespace fedhive::aggregation::formulas::kernels
