// Makes the nodes of formulas while their text is read: operations and functions of earlier nodes, with the shapes of their results.
#pragma once

#include "aggregation/formulas/expression.h"
#include "aggregation/formulas/row_functions.h"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {

class NodeBuilder {
protected:
    explicit NodeBuilder(const Scope& scope) : scope_(scope) {}

    /// The node of an operation. Throws FormulaError if the arguments' shapes do not fit.
    std::size_t make(Opcode op, std::span<const std::size_t> args);
    std::size_t make(Opcode op, std::initializer_list<std::size_t> args) {
        return make(op, std::span(args.begin(), args.size()));
    }
    std::size_t norm(std::size_t of);
    /// A function of an example, made of operations.
    std::size_t of_examples(const std::string& name, const RowFunction& function, const std::vector<std::size_t>& args);
    /// The node, or an equal one that can stand for it.
    std::size_t add(Node node);

    [[noreturn]] void fail(const std::string& text) const { throw FormulaError(line_, text); }

    const Scope& scope_;
    Formulas formulas_{};
    std::size_t line_ = 0;

private:
    std::size_t add_of_examples(Node node);
    void check_of_products(Opcode op, std::span<const std::size_t> args) const;
    /// By one multiplication or a root, else as exp(exponent * log(base)).
    std::size_t power_of_vector(std::size_t base, std::size_t exponent);
    /// A leaf, or not in a repeat that has ended: what a turn computes is that turn's.
    bool is_in_reach(const Node& node) const;
};

}  // namespace fedhive::aggregation::formulas
