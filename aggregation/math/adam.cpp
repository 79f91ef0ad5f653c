// Adam as a config names it; its step over flat parameters is adam_step (vector_ops.h).
#include "aggregation/math/adam.h"

namespace fedhive::aggregation {

AdamOptions adam_options(const Values& values) {
    AdamOptions options;
    options.lr = static_cast<float>(values.number("lr"));
    options.beta1 = static_cast<float>(values.number("beta1"));
    options.beta2 = static_cast<float>(values.number("beta2"));
    options.epsilon = static_cast<float>(values.number("epsilon"));
    options.weight_decay = static_cast<float>(values.number("weight_decay"));
    return options;
}

std::vector<KeySpec> adam_keys(double default_decay, const char* decay_doc) {
    return {{.name = "lr",
             .default_value = 0.001,
             .range = above(0),
             .doc = "Client rate per local step, typically 0.0001–0.01 (η_l)."},
            {.name = "beta1", .default_value = 0.9, .range = fraction_below_one(), .doc = "Decay of the first moment (β₁)."},
            {.name = "beta2", .default_value = 0.999, .range = fraction_below_one(), .doc = "Decay of the second moment (β₂)."},
            {.name = "epsilon",
             .default_value = 1e-8,
             .range = above(0),
             .doc = "Added to the square root of the second moment (ε)."},
            {.name = "weight_decay", .default_value = default_decay, .range = at_least(0), .doc = decay_doc}};
}

OptimizerSpec adam() {
    return {.name = "adam",
            .summary = "Adam (Kingma and Ba 2015, arXiv:1412.6980)",
            .keys = adam_keys(0.0, "L2 penalty added to the gradient, as torch.optim.Adam does; typically 0–0.001."),
            .build = [](const Values& values) -> OptimizerOptions { return adam_options(values); }};
}

}  // namespace fedhive::aggregation
