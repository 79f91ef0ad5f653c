// Adagrad as a config names it; its step over flat parameters is adagrad_step (vector_ops.h).
#include "aggregation/math/client_optimizer.h"

namespace fedhive::aggregation {

OptimizerSpec adagrad() {
    return {.name = "adagrad",
            .summary = "Adagrad (Duchi et al. 2011, JMLR 12)",
            .keys = {{.name = "lr",
                      .default_value = 0.01,
                      .range = above(0),
                      .doc = "Client rate per local step, typically 0.01–0.1 (η_l)."},
                     {.name = "epsilon",
                      .default_value = 1e-10,
                      .range = above(0),
                      .doc = "Added to the square root of the sum of squares (ε)."},
                     {.name = "weight_decay",
                      .default_value = 0.0,
                      .range = at_least(0),
                      .doc = "L2 penalty added to the gradient, as torch.optim.Adagrad does; typically 0–0.001."}},
            .build = [](const Values& values) -> OptimizerOptions {
                return AdagradOptions{static_cast<float>(values.number("lr")),
                                      static_cast<float>(values.number("weight_decay")),
                                      static_cast<float>(values.number("epsilon"))};
            }};
}

}  // namespace fedhive::aggregation
