// Classification: one class for each example. The loss is softmax and cross-entropy, as in nn.CrossEntropyLoss.
#include "clients/tasks/accuracy.h"
#include "clients/tasks/by_class.h"

namespace fedhive::clients {

LearningTask classification() {
    return {.name = "classification",
            .summary = "a class for each example, by cross-entropy",
            .source = "nn.CrossEntropyLoss",
            .targets = {TargetKind::Class},
            .losses = {"cross_entropy", "focal"},
            .metrics = {accuracy(), top5_accuracy(), balanced_accuracy(), macro_f1()},
            .sums = {correct(), among_five(), labels_by_class(), predicted_by_class(), correct_by_class(), confusion()}};
}

}  // namespace fedhive::clients
