// Regression: numeric targets. The loss is the squared error, averaged over an example's numbers, as in nn.MSELoss.
#include "clients/tasks/learning_task.h"

namespace fedhive::clients {

LearningTask regression() {
    return {.name = "regression",
            .summary = "numbers for each example, by squared error",
            .source = "nn.MSELoss",
            .targets = {TargetKind::Numbers},
            .metrics = {
                {.name = "mse",
                 .title = "MSE",
                 .meaning = "mean squared error",
                 .range = above(0),
                 .higher_is_better = false,
                 .of = [](const EvaluationResult& sums, double examples, double) { return sums.loss_sum / examples; }},
                {.name = "mae",
                 .title = "MAE",
                 .meaning = "mean absolute error",
                 .range = above(0),
                 .higher_is_better = false,
                 .of = [](const EvaluationResult& sums, double examples, double) { return sums.absolute_sum / examples; }}}};
}

}  // namespace fedhive::clients
