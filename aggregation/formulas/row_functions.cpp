#include "aggregation/formulas/row_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fedhive::aggregation::formulas {

namespace {

constexpr std::array kRowFunctions = {
    RowFunction{"abs", Opcode::Abs, 1},
    RowFunction{"batch_mean", Opcode::BatchMean, 1},
    RowFunction{"batch_square", Opcode::BatchSquare, 1},
    RowFunction{"cos", Opcode::Divide, 2},
    RowFunction{"cross_entropy", Opcode::Negative, 2},
    RowFunction{"dot", Opcode::Dot, 2},
    RowFunction{"exp", Opcode::Exp, 1},
    RowFunction{"floor", Opcode::Floor, 1},
    RowFunction{"kl", Opcode::Sum, 2},
    RowFunction{"log", Opcode::Log, 1},
    RowFunction{"log_sigmoid", Opcode::LogSigmoid, 1},
    RowFunction{"log_softmax", Opcode::LogSoftmax, 1},
    RowFunction{"logsumexp", Opcode::LogSumExp, 1},
    RowFunction{"max", Opcode::Largest, 1},
    RowFunction{"maximum", Opcode::Maximum, 2},
    RowFunction{"mean", Opcode::Mean, 1},
    RowFunction{"min", Opcode::Smallest, 1},
    RowFunction{"minimum", Opcode::Minimum, 2},
    RowFunction{"norm", Opcode::Norm, 1},
    RowFunction{"one_hot", Opcode::OneHot, 1},
    RowFunction{"pick", Opcode::Pick, 2},
    RowFunction{"relu", Opcode::Relu, 1},
    RowFunction{"sigmoid", Opcode::Sigmoid, 1},
    RowFunction{"sign", Opcode::Sign, 1},
    RowFunction{"softmax", Opcode::Softmax, 1},
    RowFunction{"sqrt", Opcode::Sqrt, 1},
    RowFunction{"sum", Opcode::Sum, 1},
    RowFunction{"tanh", Opcode::Tanh, 1},
    RowFunction{"where", Opcode::Where, 3},
};

bool is_of_two_vectors(Shape one, Shape other) { return one >= Shape::Classes && other >= Shape::Classes && one != other; }

/// The vectors that the rows of a table are.
Shape row_of(Shape table) { return table == Shape::ClassTable ? Shape::Classes : Shape::Features; }

bool is_label(const Node& node) { return node.op == Opcode::Name && node.name == kLabel; }

RowShape of_vector(Opcode op, std::span<const Node* const> args) {
    const Shape shape = args[0]->shape;
    if (shape < Shape::Classes)
        return {Shape::Number, fmt::format("functions of a vector take logits or features, found {}", text_of(shape))};
    if (op == Opcode::Softmax || op == Opcode::LogSoftmax) return {shape};
    if (op == Opcode::Dot && args[1]->shape != shape)
        return {Shape::Number, fmt::format("dot and cos take two vectors of one kind, found {} and {}", text_of(shape),
                                           text_of(args[1]->shape))};
    if (op == Opcode::Pick && (shape != Shape::Classes || !is_label(*args[1])))
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
RowShape of_table(Opcode op, std::span<const Node* const> args) {
    const auto refused = [](const std::string& problem) { return RowShape{Shape::Number, problem}; };
    if (op == Opcode::PickRow) {
        if (!is_label(*args[1])) return refused("a table has a row for the label y: pick(TABLE, y)");
        return {row_of(args[0]->shape)};
    }
    if (op == Opcode::NormRows) return {Shape::Classes};
    if (op == Opcode::DotRows) {
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

bool is_of_row_vector(Opcode op) {
    return is_reduction(op) || (op >= Opcode::Norm && op <= Opcode::Pick) || op == Opcode::BatchSquare || op >= Opcode::PickRow;
}

RowShape shape_of_row(Opcode op, std::span<const Node* const> args) {
    if (std::ranges::any_of(args, [](const Node* arg) { return is_table(arg->shape); })) return of_table(op, args);
    if (op == Opcode::OneHot)
        return is_label(*args[0]) ? RowShape{Shape::Classes} : RowShape{Shape::Number, "one_hot takes the label y"};
    if (is_of_row_vector(op)) return of_vector(op, args);
    if (op == Opcode::BatchMean && args[0]->shape == Shape::Number)
        return {Shape::Number, "batch_mean takes a value of each example, found a number that all examples have"};
    Shape shape = Shape::Number;
    for (const Node* arg : args) {
        if (is_of_two_vectors(shape, arg->shape))
            return {shape, fmt::format("cannot combine {} with {}; sum, mean or dot turn a vector into a number",
                                       text_of(shape), text_of(arg->shape))};
        shape = std::max(shape, arg->shape);
    }
    if (op == Opcode::Remainder && shape != Shape::Number) return {shape, "% takes numbers, not vectors"};
    if (op == Opcode::Power && args[1]->shape != Shape::Number)
        return {shape, "an exponent must be a number; exp takes vectors"};
    return {shape};
}

}  // namespace fedhive::aggregation::formulas
