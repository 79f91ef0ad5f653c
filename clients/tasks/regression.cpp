// Regression: numeric targets. The loss is the squared error, averaged over an example's numbers, as in nn.MSELoss.
#include "clients/tasks/learning_task.h"

namespace fedhive::clients {

LearningTask regression() {
    return {.name = "regression",
            .summary = "numbers for each example, by squared error",
            .source = "nn.MSELoss",
            .targets = {TargetKind::Numbers},
            .losses = {"squared_error"},
            .metrics = {{.name = "mse",
                         .title = "MSE",
                         .meaning = "mean squared error",
                         .range = above(0),
                         .higher_is_better = false,
                         .of = [](const EvaluationSums& sums, double examples, double) { return sums.loss() / examples; }},
                        {.name = "mae",
                         .title = "MAE",
                         .meaning = "mean absolute error",
                         .range = above(0),
                         .higher_is_better = false,
                         .of = [](const EvaluationSums& sums, double examples,
                                  double) { return sums.one("absolute") / examples; }}},
            .sums = {{.name = "absolute",
                      .add = [](double* sum, const TargetOutcome& outcome, std::uint32_t) { *sum += outcome.absolute; }}}};
}

}  // namespace fedhive::clients
