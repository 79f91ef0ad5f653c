// Weight rules as text: the lines of an AggregatorSpec, which give the coefficients of the aggregate u = Σ scale_k u_k / Σ share_k.
#pragma once

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/weight_rule.h"

#include <memory>

namespace fedhive::aggregation::formulas {

/// The rule's weights, by its lines or by its C++; null: the updates keep theirs. values: of all its keys. Throws FormulaError for lines
/// that are no formulas of a cohort.
///
/// Lines    set `scale` and, if it is another, `share`. They read what a method file's weights read (k.n, k.norm, k.sent_loss, …), and
///          k.weight, k.label_discrepancy, the client rate lr, and the keys.
std::unique_ptr<WeightRule> make_weight_rule(const AggregatorSpec& rule, const Values& values);

}  // namespace fedhive::aggregation::formulas
