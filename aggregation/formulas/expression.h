// Formulas as text, parsed into checked expressions. A formula reads numbers (f64), vectors (f32, of the model's shape) and cohort
// numbers (one f64 for each update of a round); the grammar is in docs/methods.md.
//
//   w = w + server_lr * u             sets a target
//   let change = (w_t - w) / steps    names a value for the lines below
//   repeat count                      runs the lines up to `end` so many times; they name values, or set what a `let` above named:
//   x = (x + 2 / x) / 2               to what its formula gives at the end of a turn
//   end
//
// On the right a name means its value before all lines, in a repeat before the turn; only `let` names are new. Equal expressions are one
// node.
#pragma once

#include "aggregation/formulas/opcode.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

inline constexpr std::size_t kLongestText = 4096;  // bytes of all lines of a method
inline constexpr std::size_t kDeepest = 64;        // brackets, signs and powers inside one another
inline constexpr std::size_t kMostNodes = 400;
inline constexpr std::size_t kMostTurns = 1'000'000;  // of a repeat

/// Number: one f64. Cohort: one f64 for each update. Vector: f32, of the model's shape. The others occur in formulas of an example. Row: one
/// number of the example; Classes: one for each class; Features: the inputs of the last layer; ClassTable, FeatureTable: a row of one of
/// these for each class. Memories by class have the shapes Classes, ClassTable and FeatureTable in formulas of parameters, too.
enum class Shape : std::uint8_t { Number, Cohort, Vector, Row, Classes, Features, ClassTable, FeatureTable };
constexpr bool is_table(Shape shape) { return shape >= Shape::ClassTable; }

/// A node's arguments are indices of earlier nodes.
struct Node {
    Opcode op = Opcode::Number;
    std::uint8_t num_args = 0;
    Shape shape = Shape::Number;
    std::array<std::size_t, 3> args{};
    double number = 0.0;  // Opcode::Number
    std::string name{};   // Opcode::Name

    std::span<const std::size_t> arguments() const { return {args.data(), num_args}; }
    bool operator==(const Node&) const = default;
};

/// A mistake in the line with index `line`, from 0. If a name is not known, `unknown` is the name and `known` lists the names that
/// are.
struct FormulaError : std::runtime_error {
    FormulaError(std::size_t at_line, const std::string& text) : std::runtime_error(text), line(at_line) {}

    std::size_t line;
    std::string unknown{};
    std::vector<std::string> known{};
};

using Names = std::map<std::string, Shape, std::less<>>;

/// The names that formulas of one place (method_formulas.h) may use, and the functions that they may call.
struct Scope {
    Names given;            // may be read
    Names targets;          // may be set
    bool numbers = false;   // any other name may be set to a number
    bool rows = false;      // formulas of an example: the functions of row_functions.h
    bool batch = false;     // functions over the examples of a batch are allowed (row_batch.h)
    bool products = false;  // dot_k, cos_k and the like are allowed (cohort_products.h), and repeat
};

struct Target {
    std::string name;
    std::size_t node = 0;
    std::size_t line = 0;
    bool is_vector = false;       // a formula that gives a number sets each element to it
    Shape shape = Shape::Number;  // of the target, as the scope declares it
};

/// The nodes [first, end), in that order `count` times, rounded down: first the variables, whose argument is what they begin with, then the
/// nodes that are computed in a turn. At a turn's end each variable becomes the value of its `next`, one number for each update if it began so. No node after `end` has one of the turn's
/// nodes as an argument, but for leaves.
struct Repeat {
    struct Variable {
        std::size_t node = 0, next = 0;
    };
    std::size_t first = 0, end = 0;
    std::size_t count = 0;  // a node
    std::vector<Variable> variables{};
};

struct Formulas {
    std::vector<Node> nodes;
    std::vector<Target> targets;
    std::vector<Repeat> repeats{};

    const Node& of(const Target& target) const { return nodes[target.node]; }
    /// Whether a formula reads that name.
    bool reads(std::string_view name) const;
    /// Whether a formula needs the inner products of the cohort's updates.
    bool takes_products() const;
    /// Whether a value of the whole vector is needed before the first element.
    bool reduces() const;
};

/// Throws FormulaError for a line outside the grammar, a name that is not in the scope, a shape that does not fit, a name that is
/// set twice, or lines that are too long, too deep or too many.
Formulas parse(std::span<const std::string> lines, const Scope& scope);

/// "a number", "a vector of the model's shape", "a number for each update", …
std::string_view text_of(Shape shape);

}  // namespace fedhive::aggregation::formulas
