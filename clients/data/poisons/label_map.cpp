#include "aggregation/base/error.h"
#include "clients/data/poison.h"

#include <fmt/format.h>

#include <cmath>

namespace fedhive::clients {

namespace {

void check_map(const Values& values, const Examples& train, std::int64_t num_classes) {
    require_classes(train);
    const std::vector<double>& labels = values.numbers("labels");
    if (labels.size() != static_cast<std::size_t>(num_classes))
        throw ConfigError(
            fmt::format("labels: {} entries for {} classes; give each class a label", labels.size(), num_classes));
    for (const double label : labels)
        if (label != std::floor(label) || label < 0.0 || label >= static_cast<double>(num_classes))
            throw ConfigError(fmt::format("labels: {} is not a class; allowed: 0 to {}", label, num_classes - 1));
}

/// y ← labels[y]
void map(const Values& values, Examples& train, std::span<const std::uint32_t> indices, std::int64_t, std::uint64_t) {
    const std::vector<double>& labels = values.numbers("labels");
    for (const std::uint32_t index : indices)
        if (const std::int32_t label = train.labels[index]; label != kIgnored)
            train.labels[index] = static_cast<std::int32_t>(labels[static_cast<std::size_t>(label)]);
}

}  // namespace

PoisonSpec label_map() {
    return {
        .name = "label_map",
        .summary = "label y becomes labels[y]; targeted label flipping if only one label changes (arXiv:2007.08432)",
        .keys =
            {{.name = "labels",
              .default_value = std::vector<double>{},
              .range = at_least(0),
              .required = true,
              .doc =
                  "The attackers' label of each class, in the order of the classes: with 10 classes [0, 1, 2, 3, 4, 5, 6, 1, "
                  "8, 9] turns 7 into 1."}},
        .check = check_map,
        .apply = map};
}

}  // namespace fedhive::clients
