// Targets that do not count: kIgnored in place of a class.
//
//   loss of a batch   the mean over its counted targets; without any, the loss and its gradient are 0
//   metrics           over the counted targets
//   a client          has the weight of all its examples, counted or not
#pragma once

#include "clients/data/dataset.h"

#include <cstdint>
#include <span>

namespace fedhive::clients {

/// Sets TargetShape::ignores of both parts: true if any target of the data set is kIgnored. Throws ConfigError if a part has no
/// counted target: "all targets of the test examples are -100 …".
void mark_ignored(Dataset& dataset);

/// Number of labels equal to kIgnored.
std::uint64_t num_ignored(std::span<const std::int32_t> labels);

/// Counts examples by their counted targets: an example with c counted targets of `width` counts c / width. Plain data
/// that refers to host memory, which must outlive it.
struct CountedTargets {
    const std::int32_t* labels = nullptr;  // [all examples, width]; null: every target counts
    std::size_t width = 1;

    static CountedTargets of(const ExamplesView& examples) {
        if (!examples.target.ignores) return {};
        return {examples.labels.data(), examples.target.width};
    }
    bool all() const { return labels == nullptr; }
    double examples_in(std::span<const std::uint32_t> indices) const;
};

}  // namespace fedhive::clients
