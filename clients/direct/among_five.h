// Whether a class is among the five with the largest scores, once for host and device. C++17.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstdint>

namespace fedhive::clients::direct {

/// Fewer than five others are ahead: their score is larger, or equal and of a class before, as the largest score's is the first of equal ones.
///
/// Shapes   scores: [classes]; label below classes.
/// Differs  from torch.topk in that its order of equal scores is said here; a score that is no number is ahead, and never among the five.
FEDHIVE_HOST_DEVICE bool is_among_five(const float* scores, std::uint32_t classes, std::uint32_t label) {
    const float own = scores[label];
    std::uint32_t ahead = 0;
    for (std::uint32_t c = 0; c < classes; ++c)  // without a branch, so that it is a few instructions
        ahead += static_cast<std::uint32_t>(!(scores[c] <= own)) + static_cast<std::uint32_t>((scores[c] == own) & (c < label));
    return ahead < 5 && own == own;
}

}  // namespace fedhive::clients::direct
