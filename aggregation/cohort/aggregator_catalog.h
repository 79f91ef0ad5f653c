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

/// The rows with a weight rule's coefficients as scales and weights, without those of coefficient 0. rows: the updates, then the
/// last aggregate if the rule keeps it; of_sum: they are for ColumnRule::Sum, which does not divide. For a sum in which every
/// coefficient is 0, the first row at scale 0.
std::vector<Update> weighed(std::span<const Update> rows, const Coefficients& coefficients, bool of_sum);

/// A rule by its name, and its requirements. Some first weigh the updates (cohort/weight_rule.h), and then combine them column by
/// column: Krum chooses some and takes their mean.
struct AggregatorSpec {
    std::string name;
    std::string summary;               // what it does, and its source: half a line
    bool replaceable = false;          // plain averaging, which a mode may replace by its own rule
    bool single_updates = false;       // needs each client's own update, so that a slot may hold one client only
    bool weighs = true;                // it keeps the updates' scales, hence a mode's discount of late ones
    bool products = false;             // `weigh` needs inner products of the updates
    bool of_groups = false;            // may combine means of groups of the updates (cohort/pre_aggregation.h)
    bool root = false;                 // `weigh` takes the root client's update as one more row of the products
    bool histories = false;            // its products are of the sums of the clients' accepted updates, these updates included
    bool keeps_last = false;           // `weigh` and the combination take the last aggregate as one more row
    bool label_discrepancies = false;  // `weigh` needs how far each client's labels are from evenly spread
    std::vector<std::string> measures{};  // what clients report of the model that they are sent, for `weigh`
    std::vector<KeySpec> keys{};
    std::size_t (*least)(const Values& values) = nullptr;  // updates below which the server must not step; null: 1
    /// `values` must have all keys.
    std::unique_ptr<Aggregator> (*build)(const Values& values) = nullptr;
    /// The weights as text (formulas/weight_text.h), or in C++; both null: the updates' own.
    std::vector<std::string> (*lines)() = nullptr;
    std::unique_ptr<WeightRule> (*weigh)(const Values& values) = nullptr;
};

/// The number of updates below which the server must not step; `values` must have all keys.
std::size_t least_updates(const AggregatorSpec& rule, const Values& values);

/// All rules that a config can name, in the order of REFERENCE.md.
const std::vector<AggregatorSpec>& aggregator_catalog();

/// The name must exist. "formula" and "python", which a config cannot name: the weights that a method file gives, and a rule in a file.
const AggregatorSpec& aggregator_spec(const std::string& name);

}  // namespace fedhive::aggregation
