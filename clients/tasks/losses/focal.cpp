#include "clients/tasks/losses/focal.h"

#include "clients/tasks/loss.h"

namespace fedhive::clients {

LossSpec focal_loss() {
    std::vector<KeySpec> keys{
        {.name = "gamma",
         .default_value = 2.0,
         .range = between(0, 100),
         .doc = "γ: the loss of an example is multiplied by (1 − p)^γ for the probability p of its class; 0 is the "
                "cross-entropy."}};
    for (const KeySpec& key : class_weight_keys()) keys.push_back(key);
    return {.name = "focal",
            .summary = "focal loss over a softmax (arXiv:1708.02002)",
            .keys = keys,
            .check = check_class_weights,
            .build = [](const Values& values) {
                return LossPlan{.kind = LossKind::Focal, .gamma = static_cast<float>(values.number("gamma"))};
            }};
}

}  // namespace fedhive::clients
