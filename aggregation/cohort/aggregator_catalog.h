// The rules that a config can name as `strategy.aggregator`: what each needs, and how it is built from its keys.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/cohort/weight_rule.h"
#include "aggregation/math/aggregator.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fedhive::aggregation {

/// The rows with a weight rule's coefficients as their scales and weights, without the rows of coefficient 0. rows: the updates, then
/// the last aggregate if the rule keeps it. of_sum: the result is for ColumnRule::Sum, which does not divide by the weights; if every
/// coefficient is 0, it is the first row with scale 0, so that the sum is 0.
std::vector<Update> weighed(std::span<const Update> rows, const Coefficients& coefficients, bool of_sum);

/// A rule's name and needs. A rule combines the updates column by column, a column being one parameter's values in all updates. Some
/// rules first weigh the updates (cohort/weight_rule.h): Krum gives most of them weight 0 and takes the mean of the others.
struct AggregatorSpec {
    std::string name;
    std::string summary;          // what it does, and its source: half a line
    bool replaceable = false;     // plain averaging, which a mode may replace by its own rule
    bool single_updates = false;  // needs each client's own update, so an arena slot may hold one client's only
    bool weighs = true;           // it keeps the updates' weights, hence a mode's discount of stale ones
    bool products = false;        // the weights need inner products of the updates
    bool of_groups = false;       // may combine means of groups of the updates (cohort/pre_aggregation.h)
    bool root = false;            // the weights need the inner products of the server's own (root) update, too
    bool histories = false;       // inner products of each client's sum of accepted updates, this one included, not of updates
    bool keeps_last = false;      // the weights and the combination take the last aggregate as one more row
    bool label_discrepancies = false;           // the weights need Sender::label_discrepancy
    std::vector<std::string> measures{};        // numbers that clients report of the model that they are sent, for the weights
    std::vector<RememberedNumber> remembers{};  // by `lines`, as k.NAME
    std::vector<KeySpec> keys{};
    std::size_t (*least)(const Values& values) = nullptr;  // updates below which the server must not step; null: 1
    /// `values` must have all keys.
    std::unique_ptr<Aggregator> (*build)(const Values& values) = nullptr;
    /// The weights as text (formulas/weight_text.h); null: the updates' own.
    std::vector<std::string> (*lines)() = nullptr;
};

/// The number of updates below which the server must not step; `values` must have all keys.
std::size_t least_updates(const AggregatorSpec& rule, const Values& values);

/// All rules that a config can name, in the order of REFERENCE.md.
const std::vector<AggregatorSpec>& aggregator_catalog();

/// The rule of that name, which must exist. Three names are not for configs: "formula" and "formula_with_root" (a method file's
/// weights, the second where they read the root client's update), "python" (a rule in a file).
const AggregatorSpec& aggregator_spec(const std::string& name);

}  // namespace fedhive::aggregation
