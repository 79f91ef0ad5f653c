// RFA: the geometric median of the updates by smoothed Weiszfeld steps.
//
//   v = Σ β_k u_k / Σ β_k with β_k = w_k / max(ν, |u_k − v|), repeated; v begins as the weighted mean
//
// Shapes   n >= 1 updates, one client a slot. Cost: steps · 2 n² multiply-adds on inner products.
// Source   Pillutla, Kakade, Harchaoui 2019 (arXiv:1912.13445): the smoothed Weiszfeld algorithm.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec geometric_median() {
    return {.name = "geometric_median",
            .summary = "the point with the least sum of distances to the updates (RFA, arXiv:1912.13445)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .of_groups = true,
            .keys = {{.name = "weiszfeld_steps",
                      .default_value = std::int64_t{3},
                      .range = between(0, 10000),
                      .doc = "Weiszfeld steps from the weighted mean on; the paper takes 3, and 0 is the mean."},
                     {.name = "smoothing",
                      .default_value = 1e-6,
                      .range = above(0),
                      .doc = "Least distance that a weight is divided by (ν)."}},
            .build = [](const Values&) { return make_mean(); },
            .lines =
                [] {
                    return std::vector<std::string>{"let beta = k.weight / sum_k(k.weight)",
                                                    "repeat weiszfeld_steps",
                                                    "let closeness = k.weight / maximum(smoothing, distance_k(beta))",
                                                    "beta = closeness / sum_k(closeness)",
                                                    "end",
                                                    "scale = beta"};
                }};
}

}  // namespace fedhive::aggregation
