#include "clients/tasks/losses/row_losses.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/math/cuda_kernels.h"
#include "clients/tasks/losses/class_loss.h"

#include <cuda_runtime.h>

namespace fedhive::clients::row_kernels {

namespace {

constexpr unsigned kThreads = 128;

/// One thread for each row: num_classes is small beside a layer.
__global__ void row_losses_kernel(RowLosses rows) {
    const std::size_t row = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row < rows.rows) weighted_row(rows, row);
}

}  // namespace

const char* compute(const RowLosses& rows) {
    if (rows.rows == 0) return nullptr;
    const auto blocks = static_cast<unsigned>(divide_up(rows.rows, kThreads));
    row_losses_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(aggregation::kernels::stream())>>>(rows);
    const cudaError_t error = cudaGetLastError();  // which takes it out of the runtime
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace fedhive::clients::row_kernels
