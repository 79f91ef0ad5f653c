// AdamW as a config names it: Adam's step, the decay apart from it.
#include "aggregation/math/adam.h"

namespace fedhive::aggregation {

OptimizerSpec adamw() {
    return {.name = "adamw",
            .summary = "Adam with decoupled weight decay (Loshchilov and Hutter 2019, arXiv:1711.05101)",
            .keys = adam_keys(0.01,
                              "Decoupled weight decay (λ): each step multiplies a parameter by 1 − lr · weight_decay, as "
                              "torch.optim.AdamW does."),
            .build = [](const Values& values) -> OptimizerOptions {
                AdamOptions options = adam_options(values);
                options.decoupled = true;
                return options;
            }};
}

}  // namespace fedhive::aggregation
