#include "clients/data/gather_kernel.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/math/cuda_kernels.h"

#include <cuda_runtime.h>

namespace fedhive::clients::kernels {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxRows = 65535;  // grid dimension y

__global__ void gather_kernel(element::GatherTerms from, std::size_t rows, float* values, element::TargetsTo to) {
    const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= from.num_values) return;
    for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) element::gather(from, row, at, values, to);
}

}  // namespace

const char* gather(const element::GatherTerms& from, std::size_t rows, float* values, const element::TargetsTo& to) {
    if (rows == 0) return nullptr;
    const dim3 grid(divide_up(from.num_values, kThreads), static_cast<unsigned>(rows < kMaxRows ? rows : kMaxRows));
    gather_kernel<<<grid, kThreads, 0, static_cast<cudaStream_t>(aggregation::kernels::stream())>>>(from, rows, values, to);
    const cudaError_t error = cudaGetLastError();  // also clears the error in the runtime
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace fedhive::clients::kernels
