// FedAdp: updates that point the way of the mean count more.
//
//   out = Σ p_k u_k / Σ p_k with p_k = w_k e^f(θ_k), f(θ) = α (1 − e^(−e^(−α (θ − 1)))), where θ_k is the mean, over the rounds in
//   which client k took part, of the angle between its update and the weighted mean of the round
//
// The angle is arccos c by halving: s = sin² of a half of it, then sin² of a half of that, …; 2^27 √s after 26 turns.
//
// Shapes   n >= 1 updates, one client a slot. Memory: a count and an angle for each client; they are in checkpoints.
// Source   Wu and Wang 2021 (arXiv:2012.00661): smoothed angles, Gompertz function, softmax by examples.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

AggregatorSpec aligned() {
    return {.name = "aligned",
            .summary = "the mean with more weight for updates that point its way (FedAdp, arXiv:2012.00661)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .remembers = {{.name = "rounds"}, {.name = "theta"}},
            .keys = {{.name = "gompertz",
                      .default_value = 5.0,
                      .range = above(0),
                      .doc = "Steepness of the weight in the angle (α of the Gompertz function)."}},
            .build = [](const Values&) { return make_mean(); },
            .lines =
                [] {
                    return std::vector<std::string>{
                        "let p = k.weight / sum_k(k.weight)",
                        "let lengths = distance_k(0) * sqrt(sum_k(p * dot_k(p)))",
                        "let c = where(lengths > 0, minimum(1, maximum(-1, dot_k(p) / lengths)), 1)",
                        "let s = (1 - c) / 2",
                        "repeat 26",
                        "s = s / (2 + 2 * sqrt(1 - s))",
                        "end",
                        "let theta = k.theta + (2^27 * sqrt(s) - k.theta) / (k.rounds + 1)",
                        "k.theta = theta",
                        "k.rounds = k.rounds + 1",
                        "scale = k.weight * exp(gompertz * (1 - exp(-exp(-gompertz * (theta - 1)))))"};
                }};
}

}  // namespace fedhive::aggregation
