// Compiles checked expressions into instructions for a chunk of elements. Instructions run in passes over the vectors: each pass but the
// last computes values of whole vectors (sums, norms, inner products), which later passes read as numbers; the last writes the targets.
#pragma once

#include "aggregation/formulas/expression.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {

/// The value of `node`: Σ a[i] b[i]; without b, Σ a[i]. For Opcode::Threshold: the smallest |a[i]| among the share s of all elements with
/// the largest |a[i]|; s is the node's second argument.
struct Reduction {
    std::size_t node = 0;
    Operand a{}, b{};
    bool is_threshold = false;
};

struct FormulaPass {
    std::vector<Instruction> code;
    std::vector<Reduction> reductions;
};

struct FormulaProgram {
    Formulas formulas;
    std::vector<std::size_t> levels;   // of each node: the first pass that may read it
    std::vector<std::string> vectors;  // names of the vectors that are read; an Operand of Kind::Vector has an index into them
    std::vector<std::size_t> numbers;  // nodes that instructions read as numbers; the same for Kind::Number
    std::vector<std::string> stored;   // names of the vector targets; the same for Kind::Target
    std::vector<FormulaPass> passes;
    std::size_t registers = 0;

    bool writes_vectors() const { return !stored.empty(); }
};

/// Throws FormulaError for formulas that need more registers, vectors or instructions than there are.
FormulaProgram compile(Formulas formulas);

}  // namespace fedhive::aggregation::formulas
