// What parsed formulas read and need, and the words for the shapes of values.
#include "aggregation/formulas/expression.h"

#include <algorithm>

namespace fedhive::aggregation::formulas {

bool Formulas::reads(std::string_view name) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const Node& node) { return node.op == Opcode::Name && node.name == name; });
}

bool Formulas::takes_products() const {
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return is_of_products(node.op); });
}

bool Formulas::reduces() const {
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return is_reduction(node.op); });
}

std::string_view text_of(Shape shape) {
    switch (shape) {
        case Shape::Number:
            return "a number";
        case Shape::Cohort:
            return "a number for each update";
        case Shape::Vector:
            return "a vector of the model's shape";
        case Shape::Row:
            return "a number for each example";
        case Shape::Classes:
            return "a number for each class";
        case Shape::Features:
            return "a vector of features";
        case Shape::ClassTable:
            return "a table of logits by class";
        case Shape::FeatureTable:
            return "a table of features by class";
    }
    return "";
}

}  // namespace fedhive::aggregation::formulas
