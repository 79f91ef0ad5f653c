// Prediction of the next token, at each position or after the last one only. The loss is the cross-entropy, averaged over an
// example's positions. Perplexity = exp(mean loss over examples): the number of equally likely
// tokens that the model would choose among.
#include "clients/tasks/accuracy.h"

#include <cmath>

namespace fedhive::clients {

LearningTask next_token() {
    return {.name = "next_token",
            .summary = "the next token at each position of a sequence, or after the sequence, by cross-entropy",
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
