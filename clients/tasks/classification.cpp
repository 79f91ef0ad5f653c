// Classification: one class for each example. The loss is softmax and cross-entropy, as in nn.CrossEntropyLoss.
#include "clients/tasks/accuracy.h"

namespace fedhive::clients {

LearningTask classification() {
    return {.name = "classification",
            .summary = "a class for each example, by cross-entropy",
            .source = "nn.CrossEntropyLoss",
            .targets = {TargetKind::Class},
            .losses = {"cross_entropy", "focal"},
            .metrics = {accuracy(), top5_accuracy()},
            .sums = {correct(), among_five()}};
}

}  // namespace fedhive::clients
