#include "aggregation/formulas/row_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fedhive::aggregation::formulas {

namespace {

constexpr std::array kRowFunctions = {
    RowFunction{"abs", Op::Abs, 1},
    RowFunction{"batch_mean", Op::BatchMean, 1},
    RowFunction{"batch_square", Op::BatchSquare, 1},
    RowFunction{"cos", Op::Divide, 2},
    RowFunction{"cross_entropy", Op::Negative, 2},
    RowFunction{"dot", Op::Dot, 2},
    RowFunction{"exp", Op::Exp, 1},
    RowFunction{"floor", Op::Floor, 1},
    RowFunction{"kl", Op::Sum, 2},
    RowFunction{"log", Op::Log, 1},
    RowFunction{"log_sigmoid", Op::LogSigmoid, 1},
    RowFunction{"log_softmax", Op::LogSoftmax, 1},
    RowFunction{"logsumexp", Op::LogSumExp, 1},
    RowFunction{"max", Op::Largest, 1},
    RowFunction{"maximum", Op::Maximum, 2},
    RowFunction{"mean", Op::Mean, 1},
    RowFunction{"min", Op::Smallest, 1},
    RowFunction{"minimum", Op::Minimum, 2},
    RowFunction{"norm", Op::Norm, 1},
    RowFunction{"one_hot", Op::OneHot, 1},
    RowFunction{"pick", Op::Pick, 2},
    RowFunction{"relu", Op::Relu, 1},
    RowFunction{"sigmoid", Op::Sigmoid, 1},
    RowFunction{"sign", Op::Sign, 1},
    RowFunction{"softmax", Op::Softmax, 1},
    RowFunction{"sqrt", Op::Sqrt, 1},
    RowFunction{"sum", Op::Sum, 1},
    RowFunction{"tanh", Op::Tanh, 1},
    RowFunction{"where", Op::Where, 3},
};

bool is_of_two_vectors(Shape one, Shape other) { return one >= Shape::Classes && other >= Shape::Classes && one != other; }

/// The vectors that the rows of a table are.
Shape row_of(Shape table) { return table == Shape::ClassTable ? Shape::Classes : Shape::Features; }

bool is_label(const Node& node) { return node.op == Op::Name && node.name == kLabel; }

RowShape of_vector(Op op, std::span<const Node* const> args) {
    const Shape shape = args[0]->shape;
    if (shape < Shape::Classes)
        return {Shape::Number, fmt::format("functions of a vector take logits or features, found {}", text_of(shape))};
    if (op == Op::Softmax || op == Op::LogSoftmax) return {shape};
    if (op == Op::Dot && args[1]->shape != shape)
        return {Shape::Number, fmt::format("dot and cos take two vectors of one kind, found {} and {}", text_of(shape),
                                           text_of(args[1]->shape))};
    if (op == Op::Pick && (shape != Shape::Classes || !is_label(*args[1])))
        return {Shape::Number, "cross_entropy and pick take a number for each class, and the label y"};
    return {Shape::Row};
}

}  // namespace

const RowFunction* row_function(std::string_view name) {
    const auto* const found = std::ranges::find(kRowFunctions, name, &RowFunction::name);
    return found == kRowFunctions.end() ? nullptr : found;
}

std::vector<std::string> row_function_names() {
    std::vector<std::string> names;
    names.reserve(kRowFunctions.size());
    for (const RowFunction& function : kRowFunctions) names.emplace_back(function.name);
    return names;
}

namespace {

/// The shape of an operation with a table by class among its arguments.
RowShape of_table(Op op, std::span<const Node* const> args) {
    const auto refused = [](const std::string& problem) { return RowShape{Shape::Number, problem}; };
    if (op == Op::PickRow) {
        if (!is_label(*args[1])) return refused("a table has a row for the label y: pick(TABLE, y)");
        return {row_of(args[0]->shape)};
    }
    if (op == Op::NormRows) return {Shape::Classes};
    if (op == Op::DotRows) {
        if (args[0]->shape != row_of(args[1]->shape))
            return refused(fmt::format("dot and cos of {} and {}: they take a vector and a table with rows of its kind",
                                       text_of(args[0]->shape), text_of(args[1]->shape)));
        return {Shape::Classes};
    }
    return refused(
        "a table by class is read by pick(TABLE, y), its row of the label, and, for all rows, by dot(x, TABLE), cos(x, TABLE) "
        "and "
        "norm(TABLE)");
}

}  // namespace

bool is_of_row_vector(Op op) {
    return is_reduction(op) || (op >= Op::Norm && op <= Op::Pick) || op == Op::BatchSquare || op >= Op::PickRow;
}

RowShape shape_of_row(Op op, std::span<const Node* const> args) {
    if (std::ranges::any_of(args, [](const Node* arg) { return is_table(arg->shape); })) return of_table(op, args);
    if (op == Op::OneHot)
        return is_label(*args[0]) ? RowShape{Shape::Classes} : RowShape{Shape::Number, "one_hot takes the label y"};
    if (is_of_row_vector(op)) return of_vector(op, args);
    if (op == Op::BatchMean && args[0]->shape == Shape::Number)
        return {Shape::Number, "batch_mean takes a value of each example, found a number that all examples have"};
    Shape shape = Shape::Number;
    for (const Node* arg : args) {
        if (is_of_two_vectors(shape, arg->shape))
            return {shape, fmt::format("cannot combine {} with {}; sum, mean or dot turn a vector into a number",
                                       text_of(shape), text_of(arg->shape))};
        shape = std::max(shape, arg->shape);
    }
    if (op == Op::Remainder && shape != Shape::Number) return {shape, "% takes numbers, not vectors"};
    if (op == Op::Power && args[1]->shape != Shape::Number) return {shape, "an exponent must be a number; exp takes vectors"};
    return {shape};
}

}  // namespace fedhive::aggregation::formulas
