// Numbers and formulas of layers that the host's and the device's kernels must have in common, so that both compute the same
// function and draw the same dropout. C++17.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cmath>
#include <cstdint>

namespace fedhive::clients::direct::shared {

/// Added to the variance in a norm; PyTorch's.
constexpr double kNormEpsilon = 1e-5;

/// Weight of a batch's statistics in batch norm's running ones; PyTorch's.
constexpr double kNewStatistics = 0.1;

// Dropout: a value is 0 if drawn_bits(its number in the batch, key) < threshold, else it is multiplied by a scale.

/// The key of a network's dropout layer `number`, from the batch's key.
FEDHIVE_HOST_DEVICE std::uint64_t dropout_key(std::uint64_t of_batch, std::uint32_t number) {
    return of_batch ^ (std::uint64_t{number} + 1) * 0x9E3779B97F4A7C15U;
}

inline std::uint32_t dropout_threshold(double p) { return static_cast<std::uint32_t>(std::lround(p * 4294967296.0)); }
inline float dropout_scale(double p) { return static_cast<float>(1.0 / (1.0 - p)); }

/// 32-bit hash of a number under a key, here with the key as its two halves.
FEDHIVE_HOST_DEVICE std::uint32_t drawn_bits(std::uint32_t number, std::uint32_t low, std::uint32_t high) {
    std::uint32_t bits = (number ^ low) * 0x9E3779B1U;
    bits = (bits ^ (bits >> 16)) * 0x85EBCA6BU;
    bits = ((bits ^ (bits >> 13)) + high) * 0xC2B2AE35U;
    bits = (bits ^ (bits >> 16)) * 0x27D4EB2FU;
    return bits ^ (bits >> 15);
}
FEDHIVE_HOST_DEVICE std::uint32_t drawn_bits(std::uint32_t number, std::uint64_t key) {
    return drawn_bits(number, static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32));
}

}  // namespace fedhive::clients::direct::shared
