// All instructions of a pass for one element, inside of a kernel or of a test on the host. C++17.
#pragma once

#include "aggregation/formulas/device_formulas.h"
#include "aggregation/formulas/elements.h"

namespace fedhive::aggregation::formulas {

/// vectors: has read(index, i), the value of element i of the vector at that place, and write(index, i, value) for a target.
/// registers: [kMostRegisters].
template <typename Vectors>
FEDHIVE_HOST_DEVICE float value_of(const DevicePass& pass, const Vectors& vectors, const float* registers,
                                   const Operand& operand, std::size_t i) {
    switch (operand.kind) {
        case Operand::Kind::Register:
            return registers[operand.index];
        case Operand::Kind::Vector:
            return vectors.read(operand.index, i);
        case Operand::Kind::Number:
            return pass.numbers[operand.index];
        default:
            return 1.0F;
    }
}

template <typename Vectors>
FEDHIVE_HOST_DEVICE void run_element(const DevicePass& pass, const Vectors& vectors, float* registers, std::size_t i) {
    for (std::size_t at = 0; at < pass.instructions; ++at) {
        const Instruction& one = pass.code[at];
        const float a = value_of(pass, vectors, registers, one.a, i);
        float result = 0.0F;
        if (one.op == Opcode::Where)
            result = value_of(pass, vectors, registers, a != 0.0F ? one.b : one.c, i);
        else if (is_of_one(one.op))
            result = of_one(one.op, a);
        else
            result = of_two(one.op, a, value_of(pass, vectors, registers, one.b, i));
        if (one.is_pair) {
            const float other = value_of(pass, vectors, registers, one.c, i);
            result = one.is_swapped ? of_two(one.outer, other, result) : of_two(one.outer, result, other);
        }
        if (one.out.kind == Operand::Kind::Register)
            registers[one.out.index] = result;
        else
            vectors.write(one.out.index, i, result);
    }
}

/// The vectors of a pass, of one row.
struct VectorsOfPass {
    const DevicePass& pass;
    std::size_t row = 0;

    FEDHIVE_HOST_DEVICE float read(std::size_t index, std::size_t i) const {
        return pass.vectors[index][row * pass.vector_strides[index] + i];
    }
    FEDHIVE_HOST_DEVICE void write(std::size_t index, std::size_t i, float value) const {
        pass.targets[index][row * pass.target_strides[index] + i] = value;
    }
};

/// The vectors of a gradient pass: g and w of the caller, the others of the pass.
struct VectorsOfGradient {
    const GradientPass& rule;
    float* gradient = nullptr;
    const float* parameters = nullptr;

    FEDHIVE_HOST_DEVICE float read(std::size_t index, std::size_t i) const {
        return index == rule.gradient ? gradient[i] : index == rule.parameters ? parameters[i] : rule.pass.vectors[index][i];
    }
    FEDHIVE_HOST_DEVICE void write(std::size_t, std::size_t i, float value) const { gradient[i] = value; }
};

}  // namespace fedhive::aggregation::formulas
