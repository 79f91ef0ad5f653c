#include "clients/data/poison.h"

namespace fedhive::clients {

namespace {

/// y ← C − 1 − y
void flip(const Values&, Examples& train, std::span<const std::uint32_t> indices, std::int64_t num_classes, std::uint64_t) {
    for (const std::uint32_t index : indices)
        if (train.labels[index] != kIgnored)
            train.labels[index] = static_cast<std::int32_t>(num_classes) - 1 - train.labels[index];
}

}  // namespace

PoisonSpec label_flip() {
    return {.name = "label_flip",
            .summary = "label y becomes classes − 1 − y",
            .check = [](const Values&, const Examples& train, std::int64_t) { require_classes(train); },
            .apply = flip};
}

}  // namespace fedhive::clients
