#include "aggregation/formulas/node_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fedhive::aggregation::formulas {

namespace {

/// Whether a formula of parameters can combine two values: both by class have the same shape, or one is a number for each class and
/// counts for its row of the other.
bool meets_by_class(Shape one, Shape other) {
    const auto [low, high] = std::minmax(one, other);
    return high < Shape::Classes || low == high || low == Shape::Number || (low == Shape::Classes && is_table(high));
}

}  // namespace

std::size_t NodeBuilder::of_examples(const std::string& name, const RowFunction& function,
                                     const std::vector<std::size_t>& args) {
    const auto positive = [&](std::size_t of) {
        const Opcode norm = is_table(formulas_.nodes[of].shape) ? Opcode::NormRows : Opcode::Norm;
        return make(Opcode::Maximum, {make(norm, {of}), add({.op = Opcode::Number, .number = kLeastNorm})});
    };
    const auto of_table = [&](Opcode op, std::size_t arg, Opcode of_rows) {
        return args.size() > arg && is_table(formulas_.nodes[args[arg]].shape) ? of_rows : op;
    };
    if (name == "pick") return make(of_table(Opcode::Pick, 0, Opcode::PickRow), args);
    if (name == "dot") return make(of_table(Opcode::Dot, 1, Opcode::DotRows), args);
    if (name == "norm") return make(of_table(Opcode::Norm, 0, Opcode::NormRows), args);
    if (name == "cos")
        return make(Opcode::Divide, {make(of_table(Opcode::Dot, 1, Opcode::DotRows), {args[0], args[1]}),
                                     make(Opcode::Multiply, {positive(args[0]), positive(args[1])})});
    if (name == "cross_entropy")
        return make(Opcode::Negative, {make(Opcode::Pick, {make(Opcode::LogSoftmax, {args[0]}), args[1]})});
    if (name == "kl")
        return make(Opcode::Sum,
                    {make(Opcode::Multiply, {make(Opcode::Exp, {args[0]}), make(Opcode::Subtract, {args[0], args[1]})})});
    return make(function.op, args);
}
std::size_t NodeBuilder::norm(std::size_t of) { return make(Opcode::Sqrt, {make(Opcode::Dot, {of, of})}); }

std::size_t NodeBuilder::make(Opcode op, std::span<const std::size_t> args) {
    Node node{.op = op, .num_args = static_cast<std::uint8_t>(args.size())};
    std::copy(args.begin(), args.end(), node.args.begin());
    if (scope_.rows) return add_of_examples(std::move(node));
    for (const std::size_t arg : args) {
        const Shape shape = formulas_.nodes[arg].shape;
        if ((shape == Shape::Cohort && node.shape == Shape::Vector) || (shape == Shape::Vector && node.shape == Shape::Cohort))
            fail(fmt::format("cannot combine {} with {}; sum_k or mean_k turn numbers of a cohort into one",
                             text_of(node.shape), text_of(shape)));
        if (!meets_by_class(node.shape, shape))
            fail(fmt::format("cannot combine {} with {}; values by class go with numbers and values by class of their own kind",
                             text_of(node.shape), text_of(shape)));
        node.shape = std::max(node.shape, shape);
    }
    const bool has_elements = node.shape == Shape::Vector || node.shape > Shape::Row;
    if (op == Opcode::Power && has_elements) return power_of_vector(args[0], args[1]);
    if (op == Opcode::Remainder && has_elements) fail("% takes numbers, not vectors");
    if (is_reduction(op)) {
        const bool has_share = op == Opcode::Threshold;
        if (has_share && formulas_.nodes[args[1]].shape != Shape::Number)
            fail(fmt::format("the share of threshold must be a number, found {}", text_of(formulas_.nodes[args[1]].shape)));
        for (const std::size_t arg : has_share ? args.first(1) : args)
            if (formulas_.nodes[arg].shape != Shape::Vector)
                fail(fmt::format("sum, mean, norm, dot, cos and threshold take vectors, found {}",
                                 text_of(formulas_.nodes[arg].shape)));
        node.shape = Shape::Number;
    }
    if (is_of_products(op)) {
        check_of_products(op, args);
        node.shape = Shape::Cohort;
    }
    if (is_of_cohort(op)) {
        if (node.shape != Shape::Cohort)
            fail(fmt::format("functions that end with _k take one number for each update, found {}", text_of(node.shape)));
        node.shape = op < Opcode::SoftmaxK ? Shape::Number : Shape::Cohort;
    }
    return add(std::move(node));
}

/// Of two arguments, nearest_k's first and shortest_k's second are one number; all others may have one for each update.
void NodeBuilder::check_of_products(Opcode op, std::span<const std::size_t> args) const {
    if (!scope_.products)
        fail(
            "dot_k, cos_k, distance_k, nearest_k, bipartition_k, leading_k, closest_k, shortest_k and without_conflicts_k need "
            "a "
            "round's updates; they are allowed only in `cohort`");
    const auto refuse = [&](std::string_view what, std::size_t arg) {
        fail(fmt::format("{}, found {}", what, text_of(formulas_.nodes[arg].shape)));
    };
    for (const std::size_t arg : args)
        if (formulas_.nodes[arg].shape == Shape::Vector)
            refuse("functions of the updates' inner products take one number for each update", arg);
    if (op == Opcode::NearestK && formulas_.nodes[args[0]].shape != Shape::Number)
        refuse("nearest_k takes a number of updates", args[0]);
    if (op == Opcode::ShortestK && formulas_.nodes[args[1]].shape != Shape::Number)
        refuse("shortest_k's second value is how far a weight may be from its share, one number", args[1]);
}

std::size_t NodeBuilder::add_of_examples(Node node) {
    std::array<const Node*, 3> args{};
    for (std::size_t i = 0; i < node.num_args; ++i) args[i] = &formulas_.nodes[node.args[i]];
    const RowShape found = shape_of_row(node.op, {args.data(), node.num_args});
    if (!found.problem.empty()) fail(found.problem);
    node.shape = found.shape;
    return add(std::move(node));
}

std::size_t NodeBuilder::power_of_vector(std::size_t base, std::size_t exponent) {
    const Node& of = formulas_.nodes[exponent];
    if (of.op == Opcode::Number && of.number == 2.0) return make(Opcode::Multiply, {base, base});
    if (of.op == Opcode::Number && of.number == 0.5) return make(Opcode::Sqrt, {base});
    return make(Opcode::Exp, {make(Opcode::Multiply, {exponent, make(Opcode::Log, {base})})});
}

std::size_t NodeBuilder::add(Node node) {
    const auto same = std::ranges::find_if(formulas_.nodes, [&](const Node& one) { return one == node && is_in_reach(one); });
    if (same != formulas_.nodes.end()) return static_cast<std::size_t>(same - formulas_.nodes.begin());
    if (formulas_.nodes.size() == kMostNodes) fail(fmt::format("more than {} operations", kMostNodes));
    formulas_.nodes.push_back(std::move(node));
    return formulas_.nodes.size() - 1;
}

bool NodeBuilder::is_in_reach(const Node& node) const {
    const auto place = static_cast<std::size_t>(&node - formulas_.nodes.data());
    return node.num_args == 0 ||
           std::ranges::none_of(formulas_.repeats, [&](const Repeat& one) { return place >= one.first && place < one.end; });
}

}  // namespace fedhive::aggregation::formulas
