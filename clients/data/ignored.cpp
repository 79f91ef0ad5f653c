#include "clients/data/ignored.h"

#include "aggregation/base/error.h"

#include <algorithm>

namespace fedhive::clients {

std::uint64_t num_ignored(std::span<const std::int32_t> labels) {
    return static_cast<std::uint64_t>(std::count(labels.begin(), labels.end(), kIgnored));
}

void mark_ignored(Dataset& dataset) {
    std::uint64_t ignored = 0;
    for (const auto& [part, name] : {std::pair(&dataset.train, "training"), std::pair(&dataset.test, "test")}) {
        const std::uint64_t of_part = num_ignored(part->labels);
        if (of_part > 0 && of_part == part->labels.size())
            throw ConfigError(
                fmt::format("all targets of the {} examples are {}, which marks ignored targets; expected: at least one class",
                            name, kIgnored));
        ignored += of_part;
    }
    dataset.train.target.ignores = dataset.test.target.ignores = ignored > 0;
}

double CountedTargets::examples_in(std::span<const std::uint32_t> indices) const {
    if (all()) return static_cast<double>(indices.size());
    std::uint64_t counted = 0;
    for (const std::uint32_t index : indices) counted += width - num_ignored({labels + index * width, width});
    return static_cast<double>(counted) / static_cast<double>(width);
}

}  // namespace fedhive::clients
