#include "aggregation/formulas/formula_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace fedhive::aggregation::formulas {

namespace {

using Kind = Operand::Kind;

/// Index of `value` in `list`, to which it is appended if it is new.
template <typename T>
std::uint8_t place_in(std::vector<T>& list, const T& value, std::size_t most, const char* what) {
    const auto found = std::find(list.begin(), list.end(), value);
    const auto index = static_cast<std::size_t>(found - list.begin());
    if (found == list.end()) {
        if (list.size() == most) throw FormulaError(0, fmt::format("the formulas need more than {} {}", most, what));
        list.push_back(value);
    }
    return static_cast<std::uint8_t>(index);
}

class Compiler {
public:
    explicit Compiler(Formulas formulas) { program_.formulas = std::move(formulas); }

    FormulaProgram compile() {
        const std::size_t last = find_levels();
        for (std::size_t level = 0; level < last; ++level) reduce(level + 1);
        store();
        return std::move(program_);
    }

private:
    const std::vector<Node>& nodes() const { return program_.formulas.nodes; }

    /// Numbers each node's level; returns the largest among those that the targets need.
    std::size_t find_levels() {
        for (const Node& node : nodes()) {
            std::size_t level = 0;
            for (const std::size_t arg : node.arguments()) level = std::max(level, program_.levels[arg]);
            program_.levels.push_back(level + (is_reduction(node.op) ? 1 : 0));
        }
        needed_.assign(nodes().size(), false);
        for (const Target& target : program_.formulas.targets) needed_[target.node] = true;
        std::size_t last = 0;
        for (std::size_t i = nodes().size(); i-- > 0;) {
            if (!needed_[i]) continue;
            last = std::max(last, program_.levels[i]);
            for (const std::size_t arg : nodes()[i].arguments()) needed_[arg] = true;
        }
        return last;
    }

    void begin_pass(const std::vector<std::size_t>& roots) {
        program_.passes.emplace_back();
        places_.assign(nodes().size(), std::nullopt);
        uses_.assign(nodes().size(), 0);
        free_.clear();
        next_ = 0;
        std::vector<bool> seen(nodes().size(), false);
        std::vector<std::size_t> waiting = roots;
        for (const std::size_t root : roots) ++uses_[root];
        while (!waiting.empty()) {
            const std::size_t node = waiting.back();
            waiting.pop_back();
            if (seen[node] || nodes()[node].shape != Shape::Vector) continue;
            seen[node] = true;
            for (const std::size_t arg : nodes()[node].arguments()) {
                ++uses_[arg];
                waiting.push_back(arg);
            }
        }
    }

    static std::span<const std::size_t> vectors_of(const Node& reduction) {
        return reduction.arguments().first(reduction.op == Opcode::Dot ? 2 : 1);
    }

    void reduce(std::size_t level) {
        std::vector<std::size_t> found, roots;
        for (std::size_t i = 0; i < nodes().size(); ++i)
            if (needed_[i] && is_reduction(nodes()[i].op) && program_.levels[i] == level) found.push_back(i);
        for (const std::size_t i : found)
            for (const std::size_t arg : vectors_of(nodes()[i])) roots.push_back(arg);
        begin_pass(roots);
        for (const std::size_t i : found) {
            Reduction reduction{.node = i, .a = place(nodes()[i].args[0])};
            reduction.is_threshold = nodes()[i].op == Opcode::Threshold;
            if (vectors_of(nodes()[i]).size() == 2) reduction.b = place(nodes()[i].args[1]);
            pass().reductions.push_back(reduction);  // its registers stay until the chunk's end
        }
    }

    /// Every value is computed before the first target is written, since a target may be a vector that is read.
    void store() {
        std::vector<const Target*> targets;
        std::vector<std::size_t> roots;
        for (const Target& target : program_.formulas.targets) {
            if (!target.is_vector) continue;
            place_in(program_.stored, target.name, kMostTargets, "targets");
            targets.push_back(&target);
            roots.push_back(target.node);
        }
        begin_pass(roots);
        std::vector<std::pair<Operand, Operand>> late;  // from, to
        for (std::size_t t = 0; t < targets.size(); ++t) {
            const std::size_t node = targets[t]->node;
            const Operand to{Kind::Target, static_cast<std::uint8_t>(t)};
            const bool is_computed = nodes()[node].shape == Shape::Vector && nodes()[node].op != Opcode::Name;
            if (t + 1 == targets.size() && is_computed && !places_[node]) {
                emit(node, to);
            } else {
                const Operand value = place(node);
                late.emplace_back(value.kind == Kind::Vector && targets.size() > 1 ? copied(value, fresh()) : value, to);
            }
        }
        for (const auto& [from, to] : late) copied(from, to);
    }

    FormulaPass& pass() { return program_.passes.back(); }

    /// to = from: minimum(from, from).
    Operand copied(const Operand& from, const Operand& to) {
        append({.op = Opcode::Minimum, .a = from, .b = from, .out = to});
        return to;
    }

    void append(const Instruction& instruction) {
        if (pass().code.size() == kMostInstructions)
            throw FormulaError(0, fmt::format("the formulas need more than {} operations on vectors", kMostInstructions));
        pass().code.push_back(instruction);
    }

    Operand fresh() {
        if (!free_.empty()) {
            const std::uint8_t index = free_.back();
            free_.pop_back();
            return {Kind::Register, index};
        }
        if (next_ == kMostRegisters)
            throw FormulaError(0, fmt::format("the formulas keep more than {} vectors at once", kMostRegisters));
        program_.registers = std::max(program_.registers, next_ + 1);
        return {Kind::Register, static_cast<std::uint8_t>(next_++)};
    }

    Operand place(std::size_t node) {
        const Node& of = nodes()[node];
        if (of.shape != Shape::Vector) return {Kind::Number, place_in(program_.numbers, node, kMostNumbers, "numbers")};
        if (of.op == Opcode::Name) return {Kind::Vector, place_in(program_.vectors, of.name, kMostVectors, "vectors")};
        if (!places_[node]) places_[node] = emit(node, {});
        return *places_[node];
    }

    static bool is_pairable(Opcode op) { return index_of(op) < kOpsPairable; }

    /// The argument whose own operation can be fused into this one: its value is used nowhere else. 2: none.
    std::size_t inner_of(const Node& node) const {
        if (!is_pairable(node.op)) return 2;
        for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
            const std::size_t arg = node.args[side];
            const Node& inner = nodes()[arg];
            if (inner.shape == Shape::Vector && is_pairable(inner.op) && uses_[arg] == 1 && !places_[arg]) return side;
        }
        return 2;
    }

    Operand emit(std::size_t node, Operand out) {
        const Node& of = nodes()[node];
        Instruction instruction{.op = of.op};
        std::vector<std::size_t> taken;
        const auto take = [&](std::size_t arg) {
            taken.push_back(arg);
            return place(arg);
        };
        if (const std::size_t side = inner_of(of); side < 2) {
            const Node& inner = nodes()[of.args[side]];
            instruction = {.op = inner.op, .outer = of.op, .is_pair = true, .is_swapped = side == 1};
            instruction.a = take(inner.args[0]);
            instruction.b = take(inner.args[1]);
            instruction.c = take(of.args[1 - side]);
        } else {
            instruction.a = take(of.args[0]);
            if (of.num_args > 1) instruction.b = take(of.args[1]);
            if (of.num_args > 2) instruction.c = take(of.args[2]);
        }
        for (const std::size_t arg : taken)
            if (--uses_[arg] == 0 && places_[arg] && places_[arg]->kind == Kind::Register) free_.push_back(places_[arg]->index);
        instruction.out = out.kind == Kind::None ? fresh() : out;
        append(instruction);
        return instruction.out;
    }

    FormulaProgram program_{};
    std::vector<bool> needed_{};
    // Of the present pass:
    std::vector<std::optional<Operand>> places_{};
    std::vector<std::size_t> uses_{};  // still to come
    std::vector<std::uint8_t> free_{};
    std::size_t next_ = 0;
};

}  // namespace

FormulaProgram compile(Formulas formulas) { return Compiler(std::move(formulas)).compile(); }

}  // namespace fedhive::aggregation::formulas
