// The functions that formulas of an example may call, and the shapes of their results. Such formulas read the example's logits
// [classes], its features, its label, and numbers.
//
//   A number combines with every shape, a number of each example with vectors of the example; logits do not combine with features.
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
    Opcode op;  // its operation, or the last of the several operations of cos, cross_entropy and kl
    std::size_t args;
};

/// The function of that name; null if none has it.
const RowFunction* row_function(std::string_view name);
/// All names in alphabetical order.
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
