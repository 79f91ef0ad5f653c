// The token behind those before it, at each position or behind the last one alone. The loss is the cross-entropy, its mean over an example's
// positions; perplexity is exp of its mean over the examples: among how many equally likely tokens the model chooses, as it were.
#include "clients/tasks/accuracy.h"

#include <cmath>

namespace fedhive::clients {

LearningTask next_token() {
    return {.name = "next_token",
            .summary = "the next token at each position of a sequence, or behind it, by cross-entropy",
            .source = "nn.CrossEntropyLoss over positions",
            .targets = {TargetKind::ClassEach, TargetKind::Class},
            .metrics = {accuracy(),
                        {.name = "perplexity",
                         .title = "perplexity",
                         .meaning = "perplexity",
                         .range = at_least(1),
                         .higher_is_better = false,
                         .of = [](const EvaluationResult& sums, double examples,
                                  double) { return std::exp(sums.loss_sum / examples); }},
                        top5_accuracy()},
            .of_tokens = true};
}

}  // namespace fedhive::clients
