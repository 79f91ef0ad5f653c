// Servers with a rate for each coordinate: S. J. Reddi et al. 2021, "Adaptive Federated Optimization", arXiv:2003.00295,
// Algorithm 2; without bias correction, as there. Before the first step v = tau^2, the smallest value that the source allows: with
// v = 0, the sign of an element alone would decide its first step.
#include "aggregation/server/catalog.h"

#include <string>

namespace fedhive::aggregation {

namespace {

using formulas::MethodFormulas;
using formulas::Place;

/// second: the next v, of v and `squares`, the square of the direction.
MethodFormulas adaptive_formulas(const Values& values, const std::string& second) {
    const double tau = values.number("tau");
    return {.memories = {{.name = "m", .owner = MemoryOwner::Server},
                         {.name = "v", .owner = MemoryOwner::Server, .first = tau * tau}},
            .lines = {{Place::Server,
                       {"let squares = direction^2",                          //
                        "let m_next = beta1 * m + (1 - beta1) * direction",   //
                        "let v_next = " + second,                             //
                        "w = w + server_lr * m_next / (sqrt(v_next) + tau)",  //
                        "m = m_next",                                         //
                        "v = v_next"}}}};
}

std::vector<KeySpec> adaptive_keys(double beta1) {
    return {{.name = "server_lr",
             .default_value = 0.01,
             .range = above(0),
             .doc = "Server rate per round (η), typically 0.001–0.1; the 1 of FedAvg is far too large here."},
            {.name = "beta1",
             .default_value = beta1,
             .range = fraction_below_one(),
             .doc = beta1 == 0.0 ? "Decay of the first moment; 0 in the source for Adagrad (β₁)."
                                 : "Decay of the first moment, typically 0.9 (β₁)."},
            {.name = "tau",
             .default_value = 0.001,
             .range = above(0),
             .doc = "Degree of adaptivity (τ), in units of an update, typically 0.001. With a smaller value, coordinates with "
                    "small updates take steps as large as the others."}};
}

std::vector<KeySpec> with_second_decay(std::vector<KeySpec> keys) {
    keys.insert(keys.begin() + 2, {.name = "beta2",
                                   .default_value = 0.99,
                                   .range = fraction_below_one(),
                                   .doc = "Decay of the second moment, typically 0.99 (β₂)."});
    return keys;
}

}  // namespace

ServerOptimizerSpec server_adagrad() {
    return {.name = "adagrad",
            .summary = "Adagrad: a decreasing rate for each coordinate (arXiv:2003.00295)",
            .adaptive = true,
            .keys = adaptive_keys(0.0),
            .formulas = [](const Values& values) { return adaptive_formulas(values, "v + squares"); }};
}

ServerOptimizerSpec server_adam() {
    return {.name = "adam",
            .summary = "Adam without bias correction (arXiv:2003.00295)",
            .adaptive = true,
            .keys = with_second_decay(adaptive_keys(0.9)),
            .formulas = [](const Values& values) { return adaptive_formulas(values, "beta2 * v + (1 - beta2) * squares"); }};
}

ServerOptimizerSpec server_yogi() {
    return {.name = "yogi",
            .summary = "Yogi: Adam with an additive change of the second moment (arXiv:2003.00295)",
            .adaptive = true,
            .keys = with_second_decay(adaptive_keys(0.9)),
            .formulas = [](const Values& values) {
                return adaptive_formulas(values, "v - (1 - beta2) * squares * sign(v - squares)");
            }};
}

}  // namespace fedhive::aggregation
