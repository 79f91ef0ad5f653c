// Prediction of the next token, at each position or after the last one only. The loss is the cross-entropy, averaged over an
// example's positions. Perplexity = exp(mean loss over examples): the number of equally likely
// tokens that the model would choose among.
#include "clients/tasks/accuracy.h"
#include "clients/tasks/by_class.h"

#include <cmath>

namespace fedhive::clients {

LearningTask next_token() {
    return {.name = "next_token",
            .summary = "the next token at each position of a sequence, or after the sequence, by cross-entropy",
            .source = "nn.CrossEntropyLoss over positions",
            .targets = {TargetKind::ClassEach, TargetKind::Class},
            .losses = {"cross_entropy", "focal"},
            .metrics = {accuracy(),
                        {.name = "perplexity",
                         .title = "perplexity",
                         .meaning = "perplexity",
                         .range = at_least(1),
                         .higher_is_better = false,
                         .of = [](const EvaluationSums& sums, double examples,
                                  double) { return std::exp(sums.loss() / examples); }},
                        top5_accuracy(),
                        balanced_accuracy(),
                        macro_f1()},
            .sums = {correct(), among_five(), labels_by_class(), predicted_by_class(), correct_by_class(), confusion()},
            .of_tokens = true};
}

}  // namespace fedhive::clients
