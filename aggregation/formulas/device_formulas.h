// Formulas on a CUDA device: every thread runs all instructions for one element. C++17.
#pragma once

#include "aggregation/formulas/opcode.h"

#include <cstddef>

namespace fedhive::aggregation::formulas {

/// A pass and its operands, as a kernel's argument; pointers into device memory.
struct DevicePass {
    Instruction code[kMostInstructions] = {};
    std::size_t instructions = 0;
    const float* vectors[kMostVectors] = {};
    float* targets[kMostTargets] = {};
    float numbers[kMostNumbers] = {};
};

namespace kernels {

/// nullptr on success, else CUDA's text for what failed.
const char* run_pass(const DevicePass& pass, std::size_t first, std::size_t width);

/// sum = Σ a[i] b[i] over the elements first to first + width - 1; b.kind None: Σ a[i]. Waits for the device.
const char* sum_of_products(double& sum, const DevicePass& pass, const Operand& a, const Operand& b, std::size_t first,
                            std::size_t width);

}  // namespace kernels
}  // namespace fedhive::aggregation::formulas
