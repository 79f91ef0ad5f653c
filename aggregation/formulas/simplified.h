// Replaces the keys of formulas by their values, and drops the terms that a key of 0 removes.
#pragma once

#include "aggregation/formulas/expression.h"

#include <map>
#include <string>

namespace fedhive::aggregation::formulas {

/// The formulas with each key replaced by its number, and simplified: 0·a = 0 (also if a is infinite), a + 0 = a, 1·a = a, a / 1 = a,
/// a^1 = a, a^0 = 1, where(c, a, a) = a. So a loss with a key of 0 has the bits of the loss written without that key's term.
///
/// Throws   FormulaError for a result of more than kMostNodes operations.
Formulas simplified(const Formulas& formulas, const std::map<std::string, double>& keys);

/// Whether the formulas are loss = cross_entropy(logits, y), and nothing else.
bool is_cross_entropy(const Formulas& formulas);

}  // namespace fedhive::aggregation::formulas
