// The losses of many rows of scores, one target each, as plain data: for engines whose scores are a tensor. C++17.
#pragma once

#include "clients/tasks/losses/terms.h"

#include <cstddef>
#include <cstdint>

namespace fedhive::clients {

/// losses[r] = weights[r] · loss(scores[r], classes[r]); scores[r] become its gradient. A row of weight 0 is not read: its loss and gradient
/// are 0, whatever its class.
///
/// Shapes   scores: [rows][num_classes]; classes, weights, losses: [rows]; all in one memory space, as the terms' class weights.
/// Order    each row alone: the same bits on host and device.
struct RowLosses {
    float* scores = nullptr;
    const std::int64_t* classes = nullptr;
    const float* weights = nullptr;
    float* losses = nullptr;
    std::size_t rows = 0;
    std::uint32_t num_classes = 0;
    LossTerms terms{};
};

namespace row_kernels {

/// The same in device memory. Returns CUDA's text for a failed launch, else null.
const char* compute(const RowLosses& rows);

}  // namespace row_kernels

}  // namespace fedhive::clients
