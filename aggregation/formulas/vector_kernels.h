// Loops over a chunk of a vector, for one operation or for two nested ones; the value between the two stays in a register.
#pragma once

#include "aggregation/formulas/opcode.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace fedhive::aggregation::formulas {

inline constexpr std::size_t kChunk = 512;  // elements in one call of a loop; programs with few registers take two chunks

/// out[i] = operation of a[i], b[i], c[i] for i < count. An operand that is one number is read at [0] only; an operand that the
/// operation does not have is not read. `out` may be one of the operands.
using Loop = void (*)(float* out, const float* a, const float* b, const float* c, std::size_t count);

/// Bit i of `kinds`: operand i is one number.
struct Loops {
    std::string_view name;
    std::array<Loop, kOpsOfOne> of_one;
    std::array<Loop, kOpsOfTwo * 4> of_two;  // [op][kinds]
    std::array<Loop, kOpsPairable * kOpsPairable * 16>
        pairs;                  // [inner][outer][swapped][kinds]: (a inner b) outer c, or c outer (a inner b)
    std::array<Loop, 8> where;  // [kinds]
    /// lanes[l] += a[i] * b[i] in f64 for i % 32 == l; b may be null for a factor 1. count is at most 1,024.
    void (*add_products)(double* lanes, const float* a, const float* b, std::size_t count);
};

/// The fastest that this processor runs.
const Loops& loops();
/// "avx512", "avx2" or "plain"; null if this processor or this build has none of that name.
const Loops* loops_by_name(std::string_view name);

}  // namespace fedhive::aggregation::formulas
