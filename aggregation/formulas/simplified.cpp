#include "aggregation/formulas/simplified.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/elements.h"
#include "aggregation/formulas/numbers.h"
#include "aggregation/formulas/row_functions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace fedhive::aggregation::formulas {

namespace {

class Simplifier {
public:
    Simplifier(const Formulas& from, const std::map<std::string, double>& keys)
        : from_(from), keys_(keys), copies_(from.nodes.size()), simple_(from.nodes.size()) {}

    Formulas simplify() {
        for (Target target : from_.targets) {
            target.node = simple(target.node);
            to_.targets.push_back(std::move(target));
        }
        return needed();
    }

private:
    /// to_ without nodes that no target needs.
    Formulas needed() const {
        std::vector<bool> needs(to_.nodes.size(), false);
        for (const Target& target : to_.targets) needs[target.node] = true;
        for (std::size_t i = to_.nodes.size(); i-- > 0;)
            for (const std::size_t arg : to_.nodes[i].arguments())
                if (needs[i]) needs[arg] = true;
        Formulas kept;
        std::vector<std::size_t> places(to_.nodes.size());
        for (std::size_t i = 0; i < to_.nodes.size(); ++i) {
            if (!needs[i]) continue;
            places[i] = kept.nodes.size();
            kept.nodes.push_back(to_.nodes[i]);
            for (std::size_t a = 0; a < to_.nodes[i].num_args; ++a) kept.nodes.back().args[a] = places[to_.nodes[i].args[a]];
        }
        kept.targets = to_.targets;
        for (Target& target : kept.targets) target.node = places[target.node];
        return kept;
    }

    const Node& of(std::size_t node) const { return to_.nodes[node]; }
    bool is_number(std::size_t node, double number) const { return of(node).op == Opcode::Number && of(node).number == number; }

    std::size_t add(Node node) {
        const auto same = std::find(to_.nodes.begin(), to_.nodes.end(), node);
        if (same != to_.nodes.end()) return static_cast<std::size_t>(same - to_.nodes.begin());
        if (to_.nodes.size() == kMostNodes) throw FormulaError(0, fmt::format("more than {} operations", kMostNodes));
        to_.nodes.push_back(std::move(node));
        return to_.nodes.size() - 1;
    }
    std::size_t number(double value) { return add({.op = Opcode::Number, .number = value}); }

    std::size_t build(Opcode op, std::span<const std::size_t> args) {
        Node node{.op = op, .num_args = static_cast<std::uint8_t>(args.size())};
        std::array<const Node*, 3> nodes{};
        for (std::size_t i = 0; i < args.size(); ++i) {
            node.args[i] = args[i];
            nodes[i] = &to_.nodes[args[i]];
        }
        const RowShape shape = shape_of_row(op, {nodes.data(), args.size()});
        FEDHIVE_CHECK(shape.problem.empty(), "a simplified formula: {}", shape.problem);
        node.shape = shape.shape;
        return add(std::move(node));
    }

    std::size_t leaf(const Node& node) {
        const auto key = node.op == Opcode::Name ? keys_.find(node.name) : keys_.end();
        return key != keys_.end() ? number(key->second) : add(node);
    }

    /// As it stands, with the keys' numbers.
    std::size_t copy(std::size_t at) {
        if (copies_[at]) return *copies_[at];
        const Node& node = from_.nodes[at];
        std::array<std::size_t, 3> args{};
        for (std::size_t i = 0; i < node.num_args; ++i) args[i] = copy(node.args[i]);
        copies_[at] = node.num_args == 0 ? leaf(node) : build(node.op, {args.data(), node.num_args});
        return *copies_[at];
    }

    std::size_t simple(std::size_t at) {
        if (simple_[at]) return *simple_[at];
        const Node& node = from_.nodes[at];
        std::array<std::size_t, 3> args{};
        for (std::size_t i = 0; i < node.num_args; ++i) args[i] = simple(node.args[i]);
        simple_[at] = node.num_args == 0 ? leaf(node) : of_simple(node, args);
        return *simple_[at];
    }

    std::size_t of_simple(const Node& node, std::array<std::size_t, 3> args) {
        if (is_of_row_vector(node.op)) return of_vectors(node, args);
        const auto [a, b, c] = args;
        if (node.op == Opcode::BatchMean && of(a).shape == Shape::Number) return a;
        const bool constant = std::ranges::all_of(std::span(args.data(), node.num_args),
                                                  [&](std::size_t arg) { return of(arg).op == Opcode::Number; });
        if (constant && node.op != Opcode::OneHot) return number(value_of(node, args));
        switch (node.op) {
            case Opcode::Add:
                if (is_number(a, 0.0)) return b;
                if (is_number(b, 0.0)) return a;
                break;
            case Opcode::Subtract:
                if (is_number(b, 0.0)) return a;
                if (is_number(a, 0.0)) return build(Opcode::Negative, std::array{b});
                break;
            case Opcode::Multiply:
                if (is_number(a, 0.0) || is_number(b, 0.0)) return number(0.0);
                if (is_number(a, 1.0)) return b;
                if (is_number(b, 1.0)) return a;
                break;
            case Opcode::Divide:
                if (is_number(a, 0.0)) return a;
                if (is_number(b, 1.0)) return a;
                break;
            case Opcode::Power:
                if (is_number(b, 0.0)) return number(1.0);
                if (is_number(b, 1.0)) return a;
                if (is_number(b, 2.0)) return build(Opcode::Multiply, std::array{a, a});
                if (is_number(b, 0.5)) return build(Opcode::Sqrt, std::array{a});
                break;
            case Opcode::Where:
                if (b == c) return b;
                if (of(a).op == Opcode::Number) return of(a).number != 0.0 ? b : c;
                break;
            default:
                break;
        }
        return build(node.op, {args.data(), node.num_args});
    }

    /// A function of a whole vector. An argument that has become one number stays a vector, unless the function of 0 is 0.
    std::size_t of_vectors(const Node& node, std::array<std::size_t, 3> args) {
        for (std::size_t i = 0; i < node.num_args; ++i) {
            if (of(args[i]).shape == from_.nodes[node.args[i]].shape) continue;
            if (is_number(args[i], 0.0) && (is_reduction(node.op) || node.op == Opcode::Norm || node.op == Opcode::DotRows ||
                                            node.op == Opcode::BatchSquare))
                return args[i];
            args[i] = copy(node.args[i]);
        }
        return build(node.op, {args.data(), node.num_args});
    }

    double value_of(const Node& node, const std::array<std::size_t, 3>& args) const {
        std::array<Numbers, 3> values;
        std::array<const Numbers*, 3> pointers{};
        for (std::size_t i = 0; i < node.num_args; ++i) {
            values[i] = {of(args[i]).number};
            pointers[i] = &values[i];
        }
        return evaluate(node, {pointers.data(), node.num_args}).front();
    }

    const Formulas& from_;
    const std::map<std::string, double>& keys_;
    Formulas to_{};
    std::vector<std::optional<std::size_t>> copies_, simple_;  // nodes of to_, by node of from_
};

}  // namespace

Formulas simplified(const Formulas& formulas, const std::map<std::string, double>& keys) {
    return Simplifier(formulas, keys).simplify();
}

bool is_cross_entropy(const Formulas& formulas) {
    const auto argument = [&](const Node& node, std::size_t i) -> const Node& { return formulas.nodes[node.args[i]]; };
    const Node& loss = formulas.of(formulas.targets.front());
    if (loss.op != Opcode::Negative || argument(loss, 0).op != Opcode::Pick) return false;
    const Node& likelihood = argument(argument(loss, 0), 0);
    return likelihood.op == Opcode::LogSoftmax && argument(likelihood, 0).op == Opcode::Name &&
           argument(likelihood, 0).name == "logits";
}

}  // namespace fedhive::aggregation::formulas
