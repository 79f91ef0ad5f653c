// Centered clipping: a step from the last aggregate towards each update, none longer than τ.
//
//   v ← v + 1/n Σ_k (u_k − v) · min(1, τ / |u_k − v|), repeated; v begins as the last aggregate v_0, 0 in the first round.
//   With v = v_0 + Σ_k c_k (u_k − v_0): c ← (1 − Σ_k p_k) c + p, p_k = 1/n min(1, τ / |u_k − v|).
//
// Shapes   n >= 1 updates, one client a slot. Memory: the last aggregate, [P]; it is in checkpoints.
// Source   Karimireddy, He, Jaggi 2021 (arXiv:2012.10333), centered clipping.
// Differs  clients send updates; their momentum is what `training.optimizer` makes of it.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec centered_clipping() {
    return {.name = "centered_clipping",
            .summary = "the last aggregate moved towards each update, by a limited length (arXiv:2012.10333)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .of_groups = true,
            .keeps_last = true,
            .keys = {{.name = "radius",
                      .default_value = 10.0,
                      .range = above(0),
                      .doc = "Greatest length of a step towards an update (τ), in the norm of an update."},
                     {.name = "iterations",
                      .default_value = std::int64_t{1},
                      .range = between(1, 10000),
                      .doc = "Such steps in a round (L)."}},
            .build = [](const Values&) { return make_sum(); },
            .lines =
                [] {
                    return std::vector<std::string>{"let c = 0 * k.n",
                                                    "repeat iterations",
                                                    "let p = minimum(1, radius / distance_k(c)) / received",
                                                    "c = (1 - sum_k(p)) * c + p",
                                                    "end",
                                                    "scale = c"};
                }};
}

}  // namespace fedhive::aggregation
