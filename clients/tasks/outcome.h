// The outcome of one target of an evaluated example, from which a task's sums are computed (evaluation_sums.h). For host and device. C++17.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstdint>

namespace fedhive::clients {

struct TargetOutcome {
    // Of a class:
    std::uint32_t label = 0;
    std::uint32_t predicted = 0;  // argmax of the scores: the first of equal ones, a NaN before all
    std::uint32_t ahead = 0;      // classes that rank before the label: with a larger score, or an equal one and a lower number
    // Of an example's numbers:
    double absolute = 0.0;  // mean absolute error
};

/// Number of classes that rank before the label; `classes` if the label's score is NaN.
///
/// Shapes   scores: [classes]; label below classes.
/// Differs  from torch.topk, whose order of equal scores is unspecified. A NaN ranks before all.
FEDHIVE_HOST_DEVICE std::uint32_t classes_ahead(const float* scores, std::uint32_t classes, std::uint32_t label) {
    const float own = scores[label];
    if (own != own) return classes;
    std::uint32_t ahead = 0;
    for (std::uint32_t c = 0; c < classes; ++c)  // without a branch, so that it is a few instructions
        ahead += static_cast<std::uint32_t>(!(scores[c] <= own)) + static_cast<std::uint32_t>((scores[c] == own) & (c < label));
    return ahead;
}

/// The outcome of one example, or position, whose target is a class. Shapes as in classes_ahead().
FEDHIVE_HOST_DEVICE TargetOutcome class_outcome(const float* scores, std::uint32_t classes, std::uint32_t label) {
    TargetOutcome outcome;
    outcome.label = label;
    for (std::uint32_t c = 1; c < classes; ++c)
        if (scores[c] > scores[outcome.predicted] || scores[c] != scores[c]) outcome.predicted = c;
    const bool first = outcome.predicted == label && scores[label] == scores[label];  // nothing to count
    outcome.ahead = first ? 0 : classes_ahead(scores, classes, label);
    return outcome;
}

}  // namespace fedhive::clients
