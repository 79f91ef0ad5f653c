// SGD as a config names it; its step over flat parameters is sgd_step (vector_ops.h).
#include "aggregation/math/client_optimizer.h"

namespace fedhive::aggregation {

namespace {

std::optional<KeyProblem> nesterov_without_momentum(const Values& values) {
    if (!values.flag("nesterov") || values.number("momentum") > 0.0) return {};
    return KeyProblem{"nesterov", "needs momentum above 0, typically 0.9, but momentum is 0"};
}

OptimizerOptions sgd_options(const Values& values) {
    return SgdOptions{static_cast<float>(values.number("lr")), static_cast<float>(values.number("momentum")),
                      static_cast<float>(values.number("weight_decay")), values.flag("nesterov")};
}

}  // namespace

OptimizerSpec sgd() {
    return {.name = "sgd",
            .summary = "stochastic gradient descent",
            .keys = {{.name = "lr",
                      .default_value = 0.01,
                      .range = above(0),
                      .doc = "Client rate per local step, typically 0.01–0.1 (η_l)."},
                     {.name = "momentum",
                      .default_value = 0.0,
                      .range = fraction_below_one(),
                      .doc = "Momentum: fraction of the last step that is added, typically 0.5–0.9; 0 is plain SGD."},
                     {.name = "weight_decay",
                      .default_value = 0.0,
                      .range = at_least(0),
                      .doc = "L2 penalty added to the gradient, as torch.optim.SGD does; typically 0–0.001."},
                     {.name = "nesterov", .default_value = false, .doc = "true: Nesterov momentum; needs momentum above 0."}},
            .sgd_steps = true,
            .check = nesterov_without_momentum,
            .build = sgd_options};
}

}  // namespace fedhive::aggregation
