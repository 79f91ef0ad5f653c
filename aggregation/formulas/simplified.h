// Formulas of an example with numbers in place of their keys, and without the terms that a key of 0 removes.
#pragma once

#include "aggregation/formulas/expression.h"

#include <map>
#include <string>

namespace fedhive::aggregation::formulas {

/// The same formulas in which keys are numbers, and in which a factor 0 leaves its term out, even where that could be infinite: 0 a = 0,
/// a + 0 = a, 1 a = a, a / 1 = a, a^1 = a, a^0 = 1, where(c, a, a) = a. So a method whose keys remove a term has the bits of the loss
/// without that term.
///
/// Throws   FormulaError for more operations than there may be.
Formulas simplified(const Formulas& formulas, const std::map<std::string, double>& keys);

/// loss = cross_entropy(logits, y), and nothing else.
bool is_cross_entropy(const Formulas& formulas);

}  // namespace fedhive::aggregation::formulas
