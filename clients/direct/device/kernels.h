// The CUDA side of the direct engine: one block of threads a client. Raw device pointers, C++17; work goes to the stream of
// aggregation/math/kernels.h.
#pragma once

#include "clients/direct/device/run.h"

namespace fedhive::clients::direct::device::kernels {

/// What CUDA says of a failed call or launch; nullptr when all went well.
using CudaError = const char*;

/// What all of a launch's blocks have in common. Pointers are the device's.
struct Launch {
    Network network;
    element::GatherTerms from{};  // `order`: of all examples of the launch, one client after the other
    std::uint32_t group = 1;      // rows
    std::uint32_t shared_bytes = 0;
    bool shared_parameters = false, shared_gradient = false, shared_velocity = false;
};

/// Where a client's steps lie among all of the launch, and where its loss goes: to memory that the device can write.
struct Client {
    std::uint32_t first_step = 0, num_steps = 0;
    double* loss_sum = nullptr;
};

/// One block a client: `local` [clients][stride] becomes its model; `gradient` and `velocity`, likewise, are used where they are not in
/// shared memory.
struct Training {
    const float* global = nullptr;  // [P]
    const Step* steps = nullptr;
    const Client* clients = nullptr;
    std::uint32_t num_clients = 0;
    float *local = nullptr, *gradient = nullptr, *velocity = nullptr;
    std::size_t stride = 0;
    Descent descent;
};
CudaError train(const Launch& launch, const Training& training);

/// One block: the gradient of one batch at `parameters`, and its mean loss times its size added to `loss_sum`, in device memory.
CudaError compute_gradient(const Launch& launch, float* parameters, const Step& step, float* gradient, double* loss_sum);

/// A block for each group of examples [first, first + count) of the order; `verdicts` [count], memory that the device can write.
CudaError evaluate(const Launch& launch, const float* parameters, std::uint32_t count, Verdict* verdicts);

/// From the host's memory, which may change as soon as this returns; or between memories that the device can write. Enqueued.
CudaError copy_bytes(void* to, const void* from, std::size_t bytes);

}  // namespace fedhive::clients::direct::device::kernels
