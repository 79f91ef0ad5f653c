// Which class an example is of. The loss is softmax and cross-entropy, as nn.CrossEntropyLoss has them.
#include "clients/tasks/accuracy.h"

namespace fedhive::clients {

LearningTask classification() {
    return {.name = "classification",
            .summary = "a class for each example, by cross-entropy",
            .source = "nn.CrossEntropyLoss",
            .targets = {TargetKind::Class},
            .metrics = {accuracy(), top5_accuracy()}};
}

}  // namespace fedhive::clients
