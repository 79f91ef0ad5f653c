// Focal loss of one target, for host and device. C++17.
#pragma once

#include "aggregation/math/scalar_functions.h"
#include "clients/tasks/losses/terms.h"

namespace fedhive::clients {

/// loss = −w_y · (1 − p_y)^γ · ln p_y with p = softmax(scores); `scores` become weight · d loss / d scores
/// = weight · w_y · (γ · (1 − p_y)^(γ − 1) · p_y · ln p_y − (1 − p_y)^γ) · ([c = y] − p_c).
///
/// Shapes   scores: [classes]; label y below classes.
/// Order    ascending class.
/// Source   Lin et al. 2017 (arXiv:1708.02002), equation 5.
/// Differs  p is a softmax over classes instead of a sigmoid; w_y, a weight for each class, is the paper's α; a batch's loss is
///          the mean over its examples instead of the sum over the paper's assigned anchors.
FEDHIVE_HOST_DEVICE double focal(float* scores, std::uint32_t classes, std::uint32_t label, float weight,
                                 const LossTerms& terms) {
    float largest = scores[0];
    for (std::uint32_t c = 1; c < classes; ++c)
        if (scores[c] > largest || scores[c] != scores[c]) largest = scores[c];
    const double of_label = static_cast<double>(scores[label]) - static_cast<double>(largest);
    double total = 0.0, others = 0.0;
    for (std::uint32_t c = 0; c < classes; ++c) {
        scores[c] = aggregation::element::exponential(scores[c] - largest);
        total += static_cast<double>(scores[c]);
        if (c != label) others += static_cast<double>(scores[c]);
    }
    const double log_p = of_label - aggregation::element::logarithm(total);
    const double q = others / total;  // 1 − p_y, exact near 0, too
    const auto gamma = static_cast<double>(terms.gamma);
    double power = gamma > 0.0 ? 0.0 : 1.0;  // q^γ
    if (q > 0.0 && gamma > 0.0)
        power = static_cast<double>(
            aggregation::element::exponential(static_cast<float>(gamma * aggregation::element::logarithm(q))));
    // p · ln p / q, which tends to −1 where q does to 0
    const double ratio = q > 0.0 ? (1.0 - q) * log_p / q : -1.0;
    const auto own = static_cast<double>(terms.weight_of(label));
    const double slope = static_cast<double>(weight) * own * power * (gamma * ratio - 1.0);
    for (std::uint32_t c = 0; c < classes; ++c) {
        const double p = static_cast<double>(scores[c]) / total;
        scores[c] = static_cast<float>(c == label ? slope * q : -slope * p);
    }
    return -own * power * log_p;
}

}  // namespace fedhive::clients
