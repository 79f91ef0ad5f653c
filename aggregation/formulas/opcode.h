// The operations of formulas. C++17: device code reads it.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstddef>
#include <cstdint>

namespace fedhive::aggregation::formulas {

/// The order is that of the kernels' tables (vector_kernels.h).
enum class Opcode : std::uint8_t {
    // of two
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
    // of one
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
    // of three
    Where,
    // of numbers only
    Power,
    Remainder,
    // of vectors, to a number
    Sum,
    Mean,
    Dot,
    Threshold,  // and a share of its elements
    // of cohort numbers: to a number, then to cohort numbers
    SumK,
    MeanK,
    MaxK,
    MinK,
    MedianK,
    SoftmaxK,
    SortK,
    RankK,
    SimplexK,
    // of the cohort's updates and cohort numbers (cohort_products.h), to cohort numbers
    DotK,
    CosK,
    DistanceK,
    NearestK,
    BipartitionK,
    // of examples (row_loss.h): of each element; of a vector, to a number; to a vector; of the label
    LogSigmoid,
    Norm,
    Largest,
    Smallest,
    LogSumExp,
    Softmax,
    LogSoftmax,
    Pick,
    OneHot,
    // of the examples of a batch (row_batch.h)
    BatchMean,
    BatchSquare,
    // of a table by class: the label's row; its rows times a vector; their norms
    PickRow,
    DotRows,
    NormRows,
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
constexpr bool is_of_products(Opcode op) { return op >= Opcode::DotK && op <= Opcode::BipartitionK; }

/// A value of an instruction: a register, a vector that is read or written, or a number.
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
