// Pre-aggregation: a rule sees means of groups of the updates in place of the updates. Each way of grouping is one file of
// pre_aggregations/. To add one: write its file, add its line to pre_aggregation.cpp.
//
//   y_g = mean of u_k over k in group g;  the rule of `strategy.aggregator` then combines y_1, y_2, …
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/base/random.h"
#include "aggregation/cohort/weight_rule.h"
#include "aggregation/math/groups.h"
#include "aggregation/math/inner_products.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fedhive::aggregation {

struct PreAggregationSpec {
    std::string name;
    std::string summary;    // what it does, and its source: half a line
    bool products = false;  // `groups` needs inner products of the updates
    std::vector<KeySpec> keys{};
    /// The fewest updates that give `rows` groups; `values` must have all keys.
    std::size_t (*least)(const Values& values, std::size_t rows) = nullptr;
    /// The groups of `count` >= 1 updates. products: inner products whose first rows are the updates; null unless `products` is set.
    /// stream: the round's random numbers. A null function groups nothing.
    Groups (*groups)(const Values& values, std::size_t count, const InnerProducts* products, Stream stream) = nullptr;
};

/// All ways of grouping that a config can name, in the order of REFERENCE.md; the first one groups nothing.
const std::vector<PreAggregationSpec>& pre_aggregation_catalog();

/// The name must exist.
const PreAggregationSpec& pre_aggregation_spec(const std::string& name);

/// A sender for each group's mean, as a rule sees it: the id of the group's first client, the means of its weights, steps and losses.
/// products: inner products of the groups' means, or null.
std::vector<Sender> senders_of(const Groups& groups, std::span<const Sender> senders, const InnerProducts* products);

/// The groups whose coefficient is not 0.
Groups chosen(const Groups& groups, std::span<const double> coefficients);

/// c_k = Σ c_g / |g| over the groups g that contain update k, with c_g from `of_groups`. So Σ c_k u_k over the updates equals Σ c_g y_g over
/// the groups' means.
Coefficients spread(const Groups& groups, const Coefficients& of_groups, std::size_t count);

}  // namespace fedhive::aggregation
