#include "aggregation/formulas/device_formulas.h"
#include "aggregation/formulas/elements.h"
#include "aggregation/math/cuda_kernels.h"

#include <cuda_runtime.h>

#include <vector>

namespace fedhive::aggregation::formulas::kernels {

namespace {

using Kind = Operand::Kind;

constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxBlocks = 1U << 20;

__device__ float value_of(const DevicePass& pass, const float* registers, const Operand& operand, std::size_t i) {
    switch (operand.kind) {
        case Kind::Register:
            return registers[operand.index];
        case Kind::Vector:
            return pass.vectors[operand.index][i];
        case Kind::Number:
            return pass.numbers[operand.index];
        default:
            return 1.0F;
    }
}

/// All instructions for element i; registers: [kMostRegisters].
__device__ void run_element(const DevicePass& pass, float* registers, std::size_t i) {
    for (std::size_t at = 0; at < pass.instructions; ++at) {
        const Instruction& one = pass.code[at];
        const float a = value_of(pass, registers, one.a, i);
        float result = 0.0F;
        if (one.op == Opcode::Where)
            result = value_of(pass, registers, a != 0.0F ? one.b : one.c, i);
        else if (is_of_one(one.op))
            result = of_one(one.op, a);
        else
            result = of_two(one.op, a, value_of(pass, registers, one.b, i));
        if (one.is_pair) {
            const float other = value_of(pass, registers, one.c, i);
            result = one.is_swapped ? of_two(one.outer, other, result) : of_two(one.outer, result, other);
        }
        if (one.out.kind == Kind::Register)
            registers[one.out.index] = result;
        else
            pass.targets[one.out.index][i] = result;
    }
}

__global__ void run_pass_kernel(const DevicePass pass, std::size_t first, std::size_t width) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    float registers[kMostRegisters];
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < width; i += stride)
        run_element(pass, registers, first + i);
}

/// The sum of each block of elements by one warp: lane l adds the elements l, l + 32, …; lanes are then added by halves.
__global__ void sum_kernel(double* sums, const DevicePass pass, Operand a, Operand b, std::size_t first, std::size_t width) {
    const std::size_t block = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / element::kLanes;
    const unsigned lane = threadIdx.x % element::kLanes;
    const std::size_t begin = block * element::kChunk;
    if (begin >= width) return;  // whole warps only
    const std::size_t end = begin + element::kChunk < width ? begin + element::kChunk : width;
    float registers[kMostRegisters];
    double sum = 0.0;
    for (std::size_t i = begin + lane; i < end; i += element::kLanes) {
        run_element(pass, registers, first + i);
        sum += static_cast<double>(value_of(pass, registers, a, first + i)) *
               static_cast<double>(value_of(pass, registers, b, first + i));
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

const char* run_pass(const DevicePass& pass, std::size_t first, std::size_t width) {
    if (width == 0) return nullptr;
    run_pass_kernel<<<blocks_for(width), kThreads, 0, stream()>>>(pass, first, width);
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
