// Top-5 accuracy of one example, for host and device. C++17.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstdint>

namespace fedhive::clients::direct {

/// Whether fewer than five classes rank before the label: those with a larger score, or an equal one and a lower number, as
/// argmax.
///
/// Shapes   scores: [classes]; label below classes.
/// Differs  from torch.topk, whose order of equal scores is unspecified. A NaN ranks before all, and is never in the top five.
FEDHIVE_HOST_DEVICE bool is_among_five(const float* scores, std::uint32_t classes, std::uint32_t label) {
    const float own = scores[label];
    std::uint32_t ahead = 0;
    for (std::uint32_t c = 0; c < classes; ++c)  // without a branch, so that it is a few instructions
        ahead += static_cast<std::uint32_t>(!(scores[c] <= own)) + static_cast<std::uint32_t>((scores[c] == own) & (c < label));
    return ahead < 5 && own == own;
}

}  // namespace fedhive::clients::direct
