// Checked expressions as instructions for a chunk of elements. The last pass writes the targets. Each earlier pass computes
// values of the whole vector (sums, norms, inner products), which the next pass reads as numbers.
#pragma once

#include "aggregation/formulas/expression.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {

/// The value of `node`: Σ a[i] b[i]; without b, Σ a[i]. A threshold is instead the smallest of the largest |a[i]|, where the node's
/// second argument is their share of all elements.
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
    std::vector<std::string> vectors;  // read; index: that of an Operand of Kind::Vector
    std::vector<std::size_t> numbers;  // nodes that instructions read; likewise Kind::Number
    std::vector<std::string> stored;   // vector targets; likewise Kind::Target
    std::vector<FormulaPass> passes;
    std::size_t registers = 0;

    bool writes_vectors() const { return !stored.empty(); }
};

/// Throws FormulaError for formulas that need more registers, vectors or instructions than there are.
FormulaProgram compile(Formulas formulas);

}  // namespace fedhive::aggregation::formulas
