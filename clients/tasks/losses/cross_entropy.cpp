#include "clients/tasks/losses/cross_entropy.h"

#include "clients/tasks/loss.h"

namespace fedhive::clients {

LossSpec cross_entropy_loss() {
    std::vector<KeySpec> keys{{.name = "label_smoothing",
                               .default_value = 0.0,
                               .range = fraction_below_one(),
                               .doc = "ε: the target is 1 − ε + ε / C for the label and ε / C for the other classes "
                                      "(arXiv:1512.00567); typically 0.1."}};
    for (const KeySpec& key : class_weight_keys()) keys.push_back(key);
    return {.name = "cross_entropy",
            .summary = "softmax cross-entropy, as nn.CrossEntropyLoss",
            .keys = keys,
            .check = check_class_weights,
            .build = [](const Values& values) {
                return LossPlan{.kind = LossKind::CrossEntropy,
                                .smoothing = static_cast<float>(values.number("label_smoothing"))};
            }};
}

}  // namespace fedhive::clients
