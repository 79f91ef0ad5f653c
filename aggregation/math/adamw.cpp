// AdamW as a config names it: Adam's step, the decay apart from it.
#include "aggregation/math/adam.h"

namespace fedhive::aggregation {

OptimizerSpec adamw() {
    return {.name = "adamw",
            .summary = "Adam with weight decay apart from the moments (Loshchilov and Hutter 2019, arXiv:1711.05101)",
            .keys = adam_keys(
                0.01, "Of each parameter, lr · weight_decay is taken off in every step, as torch.optim.AdamW does (λ)."),
            .build = [](const Values& values) -> OptimizerOptions {
                AdamOptions options = adam_options(values);
                options.decoupled = true;
                return options;
            }};
}

}  // namespace fedhive::aggregation
