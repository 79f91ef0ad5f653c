// CUDA kernels of the direct engine: one thread block per client. Raw device pointers, C++17; launches go to the stream of
// aggregation/math/cuda_kernels.h. P: the model's floats.
#pragma once

#include "clients/direct/device/run.h"

namespace fedhive::clients::direct::device::kernels {

/// CUDA's text for a failed call or launch; nullptr for success.
using CudaError = const char*;

/// The arguments that all blocks of a launch share; device pointers.
struct Launch {
    BlockNetwork network;
    element::GatherTerms from{};  // `order`: the examples of all clients of the launch, client by client
    std::uint32_t group = 1;      // rows of a group (block_network.h)
    std::uint32_t shared_bytes = 0;
    bool shared_parameters = false, shared_gradient = false, shared_velocity = false;
    /// In device memory: each block's outcomes and rows, one block's after the other's. Null: they are in shared memory, as in evaluations.
    float* rows = nullptr;
    std::size_t rows_stride = 0;  // floats of one block
};

/// A client's range of the launch's steps, and the address, writable by the device, of its loss.
struct Client {
    std::uint32_t first_step = 0, num_steps = 0;
    double* loss_sum = nullptr;
};

/// The vectors of a launch that trains one client per block: local[k], of [clients][stride], becomes client k's model. `gradient` and
/// `velocity`, of the same shape, are used if they are not in shared memory.
struct Training {
    const float* global = nullptr;  // [P]
    const BlockStep* steps = nullptr;
    const Client* clients = nullptr;
    std::uint32_t num_clients = 0;
    float *local = nullptr, *gradient = nullptr, *velocity = nullptr;
    std::size_t stride = 0;
    BlockDescent descent;
};
CudaError train(const Launch& launch, const Training& training);

/// One block: gradient = the gradient of a batch's mean loss at `parameters`; loss_sum += mean loss · batch size, in device memory.
CudaError compute_gradient(const Launch& launch, float* parameters, const BlockStep& step, float* gradient, double* loss_sum);

/// Evaluates the first `count` examples of the order, one block per group; `outcomes`: [count], writable by the device.
CudaError evaluate(const Launch& launch, const float* parameters, std::uint32_t count, RowOutcome* outcomes);

/// Enqueues a copy: from host memory, which may change as soon as this returns, or between memories that the device can write.
CudaError copy_bytes(void* to, const void* from, std::size_t bytes);

}  // namespace fedhive::clients::direct::device::kernels
