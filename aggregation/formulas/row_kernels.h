// Operations of examples' formulas, forward and backward, for sixteen examples side by side: values are [columns][kRowLanes].
#pragma once

#include "aggregation/formulas/opcode.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace fedhive::aggregation::formulas {

inline constexpr std::size_t kRowLanes = 16;
inline constexpr std::size_t kRowOps = index_of(Opcode::Name);

/// The operands of one operation. A step is the distance in floats between two columns of an operand: kRowLanes, or 0 for an operand that
/// is one number of each example and is used for each column.
struct RowTerms {
    float* out = nullptr;  // forward
    std::array<const float*, 3> operands{};
    std::array<std::size_t, 3> steps{};
    std::size_t out_step = 0;
    std::size_t columns = 1;          // of the widest operand or of `out`
    const float* value = nullptr;     // backward: what forward wrote to `out`
    const float* gradient = nullptr;  // backward: the gradient of `out`
    float* to = nullptr;              // the gradient of an operand, to which the loop adds
    std::size_t to_step = 0;
    std::size_t width = 0;  // of a table's rows; the table itself is [classes][width], without lanes
};

using RowLoop = void (*)(const RowTerms&);

/// The loops of all operations, forward and backward. A null loop: the operation has no such operand, or passes no gradient to it.
struct RowLoops {
    std::string_view name;
    std::array<RowLoop, kRowOps> forward;
    std::array<std::array<RowLoop, 3>, kRowOps> backward;  // [op][operand]
};

/// The fastest that this processor runs.
const RowLoops& row_loops();
/// "avx512", "avx2" or "plain"; null if this processor or this build has none of that name.
const RowLoops* row_loops_by_name(std::string_view name);

}  // namespace fedhive::aggregation::formulas
