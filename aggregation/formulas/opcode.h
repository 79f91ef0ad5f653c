// The operations of formulas. C++17: device code reads it.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstddef>
#include <cstdint>

namespace fedhive::aggregation::formulas {

/// The order is that of the kernels' tables (vector_kernels.h).
enum class Opcode : std::uint8_t {
    // of two arguments
    Add,
    Subtract,
    Multiply,
    Divide,
    Minimum,
    Maximum,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    NotEqual,
    // of one argument
    Negative,
    Sqrt,
    Abs,
    Sign,
    Exp,
    Log,
    Tanh,
    Sigmoid,
    Relu,
    Floor,
    // of three arguments
    Where,
    // of numbers only
    Power,
    Remainder,
    // of vectors; gives a number
    Sum,
    Mean,
    Dot,
    Threshold,  // second argument: a share of the vector's elements
    // of one number for each update; the first ones give one number, the others one for each update
    SumK,
    MeanK,
    MaxK,
    MinK,
    MedianK,
    SoftmaxK,
    SortK,
    RankK,
    SimplexK,
    // of the updates' inner products and numbers (cohort_products.h); give one number for each update
    DotK,
    CosK,
    DistanceK,
    NearestK,
    BipartitionK,
    LeadingK,
    ClosestK,
    ShortestK,
    WithoutConflictsK,
    // of examples (row_loss.h). In this order: of each element; a vector's number; a vector's vector; of the label
    LogSigmoid,
    Norm,
    Largest,
    Smallest,
    LogSumExp,
    Softmax,
    LogSoftmax,
    Pick,
    OneHot,
    // over the examples of a batch (row_batch.h)
    BatchMean,
    BatchSquare,
    // of a table by class: the label's row; each row's inner product with a vector; each row's norm
    PickRow,
    DotRows,
    NormRows,
    // a name that a repeat sets (expression.h); its argument is its first value
    Varying,
    // leaves
    Name,
    Number,
};

constexpr std::size_t index_of(Opcode op) { return static_cast<std::size_t>(op); }
inline constexpr std::size_t kOpsOfTwo = index_of(Opcode::Negative);
inline constexpr std::size_t kOpsOfOne = index_of(Opcode::Where) - kOpsOfTwo;
FEDHIVE_HOST_DEVICE constexpr bool is_of_two(Opcode op) { return op < Opcode::Negative; }
FEDHIVE_HOST_DEVICE constexpr bool is_of_one(Opcode op) { return op >= Opcode::Negative && op < Opcode::Where; }
FEDHIVE_HOST_DEVICE constexpr bool is_reduction(Opcode op) { return op >= Opcode::Sum && op <= Opcode::Threshold; }
constexpr bool is_of_cohort(Opcode op) { return op >= Opcode::SumK && op <= Opcode::SimplexK; }
constexpr bool is_of_batch(Opcode op) { return op == Opcode::BatchMean || op == Opcode::BatchSquare; }
constexpr bool is_of_products(Opcode op) { return op >= Opcode::DotK && op <= Opcode::WithoutConflictsK; }

/// An operand of an instruction: a register, a vector that is read or written, or a number.
struct Operand {
    enum class Kind : std::uint8_t { None, Register, Vector, Number, Target };
    Kind kind = Kind::None;
    std::uint8_t index = 0;
};

/// out = op(a, b, c) for each element. A pair: out = outer(op(a, b), c), swapped: outer(c, op(a, b)).
struct Instruction {
    Opcode op = Opcode::Add;
    Opcode outer = Opcode::Add;
    bool is_pair = false;
    bool is_swapped = false;
    Operand a{}, b{}, c{}, out{};
};

inline constexpr std::size_t kOpsPairable = index_of(Opcode::Minimum);
inline constexpr std::size_t kMostRegisters = 32;
inline constexpr std::size_t kMostVectors = 24;
inline constexpr std::size_t kMostTargets = 16;
inline constexpr std::size_t kMostNumbers = 64;
inline constexpr std::size_t kMostInstructions = 128;

}  // namespace fedhive::aggregation::formulas
