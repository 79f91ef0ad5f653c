// Formulas on a CUDA device: a thread runs all instructions for one element (run_element.h). C++17.
#pragma once

#include "aggregation/formulas/opcode.h"

#include <cstddef>

namespace fedhive::aggregation::formulas {

/// Elements [first, first + width) of all vectors.
struct ElementRange {
    std::size_t first = 0;
    std::size_t width = 0;
};

/// A pass and its operands, as a kernel's argument; pointers into device memory.
struct DevicePass {
    Instruction code[kMostInstructions] = {};
    std::size_t instructions = 0;
    const float* vectors[kMostVectors] = {};
    float* targets[kMostTargets] = {};
    float numbers[kMostNumbers] = {};
    std::size_t vector_strides[kMostVectors] = {}, target_strides[kMostTargets] = {};  // floats from a row to the next
};

/// A pass with one target, g, that another kernel runs for vectors of its own.
struct GradientPass {
    static constexpr std::size_t kNone = kMostVectors;
    DevicePass pass;
    std::size_t gradient = kNone, parameters = kNone;  // places of g and w among the vectors that the pass reads
};

namespace kernels {

/// One launch for all rows. nullptr on success, else CUDA's text for what failed.
const char* run_pass(const DevicePass& pass, std::size_t first, std::size_t width, std::size_t rows);

/// sum = Σ a[i] b[i] over the elements first to first + width - 1; b.kind None: Σ a[i]. Waits for the device.
const char* sum_of_products(double& sum, const DevicePass& pass, const Operand& a, const Operand& b, std::size_t first,
                            std::size_t width);

}  // namespace kernels
}  // namespace fedhive::aggregation::formulas
