// The operations of formulas that are evaluated for each training example (a row of a batch), forward and backward. Sixteen examples are
// evaluated side by side: values are [columns][kRowLanes], a column being a class or a feature.
#pragma once

#include "aggregation/formulas/opcode.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace fedhive::aggregation::formulas {

inline constexpr std::size_t kRowLanes = 16;
inline constexpr std::size_t kRowOps = index_of(Opcode::Name);  // the opcodes before Name; those from Name on are leaves

/// The operands of one operation. A step is the distance in floats between two columns of an operand: kRowLanes, or 0 for an operand with
/// one number per example, which every column reads.
struct RowTerms {
    float* out = nullptr;  // forward
    std::array<const float*, 3> operands{};
    std::array<std::size_t, 3> steps{};
    std::size_t out_step = 0;
    std::size_t columns = 1;          // the largest number of columns, of operands and `out`
    const float* value = nullptr;     // backward: what forward wrote to `out`
    const float* gradient = nullptr;  // backward: the gradient of `out`
    float* to = nullptr;              // backward: the gradient of an operand, accumulated
    std::size_t to_step = 0;
    std::size_t width = 0;  // for operations that read a table by class, [classes][width], which has no lanes
};

using RowLoop = void (*)(const RowTerms&);

/// The loops of all operations, forward and backward. A null loop: the operation has no such operand, or passes no gradient to it.
struct RowLoops {
    std::string_view name;
    std::array<RowLoop, kRowOps> forward;
    std::array<std::array<RowLoop, 3>, kRowOps> backward;  // [op][operand]
};

/// The fastest loops that this processor runs.
const RowLoops& row_loops();
/// "avx512", "avx2" or "plain"; null if this build lacks them or this processor cannot run them.
const RowLoops* row_loops_by_name(std::string_view name);

}  // namespace fedhive::aggregation::formulas
