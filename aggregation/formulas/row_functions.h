// Functions and shapes of an example's formulas: of its logits [classes], its features, its label, and numbers.
//
//   A number combines with everything, a number for each example with vectors; logits and features do not combine.
#pragma once

#include "aggregation/formulas/expression.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

/// cos(a, b) divides by norms that are at least this, as torch.cosine_similarity.
inline constexpr double kLeastNorm = 1e-8;
/// The label's name.
inline constexpr std::string_view kLabel = "y";

struct RowFunction {
    std::string_view name;
    Opcode op;  // its operation; cos, cross_entropy and kl have several: the last one
    std::size_t args;
};

/// Null if there is none of that name.
const RowFunction* row_function(std::string_view name);
/// In alphabetical order.
std::vector<std::string> row_function_names();

/// The shape of an operation's value; `problem` says why it has none.
struct RowShape {
    Shape shape = Shape::Number;
    std::string problem{};
};
RowShape shape_of_row(Opcode op, std::span<const Node* const> args);

/// Whether the operation takes a whole vector of an example: sum, norm, softmax, …; batch_square also reads those of other examples.
bool is_of_row_vector(Opcode op);

}  // namespace fedhive::aggregation::formulas
