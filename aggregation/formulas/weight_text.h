// Weight rules as text: the lines of an AggregatorSpec, which give the coefficients of the aggregate u: Σ scale_k u_k / Σ share_k, or
// Σ scale_k u_k where the rule is built on ColumnRule::Sum, or, for a rule that keeps the last aggregate v, v + Σ scale_k (u_k − v).
#pragma once

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/weight_rule.h"

#include <memory>

namespace fedhive::aggregation::formulas {

/// The rule's weights by its lines; null if it has none: the updates keep theirs. values: of all its keys. Throws FormulaError for lines that
/// are no formulas of a cohort.
///
/// Lines    set `scale` and, if it is another, `share`. They read what a method file's weights read (k.n, k.norm, k.sent_loss, …), and
///          k.weight, k.label_discrepancy; of the clients' training lr, momentum and proximal_mu; the keys, -1 for an optional one that is
///          left out. With `root`, r being the server's own update: k.dot_root = ⟨u_k, r⟩, k.cos_root, root_norm = |r|. With
///          `keeps_last`, dot_k, cos_k, distance_k and nearest_k are of u_k − v. With `remembers`, they read and set k.NAME.
std::unique_ptr<WeightRule> make_weight_rule(const AggregatorSpec& rule, const Values& values);

}  // namespace fedhive::aggregation::formulas
