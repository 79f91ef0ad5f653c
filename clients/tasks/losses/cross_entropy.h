// Softmax cross-entropy of one target, with label smoothing and class weights, for host and device. C++17.
#pragma once

#include "aggregation/math/scalar_functions.h"
#include "clients/tasks/losses/terms.h"

namespace fedhive::clients {

/// loss = −Σ_c q_c · ln p_c with p = softmax(scores) and q_c = (1 − ε) · w_y · [c = y] + ε / C · w_c; `scores` become
/// weight · d loss / d scores = weight · (p_c · Σ q − q_c).
///
/// Shapes   scores: [classes = C]; label y below C.
/// Order    ascending class; without smoothing and weights the bits of the plain softmax cross-entropy.
/// Source   nn.CrossEntropyLoss(weight, label_smoothing); Szegedy et al. 2016 (arXiv:1512.00567), section 7.
FEDHIVE_HOST_DEVICE double cross_entropy(float* scores, std::uint32_t classes, std::uint32_t label, float weight,
                                         const LossTerms& terms) {
    float largest = scores[0];
    for (std::uint32_t c = 1; c < classes; ++c)
        if (scores[c] > largest || scores[c] != scores[c]) largest = scores[c];
    const float own = (1.0F - terms.smoothing) * terms.weight_of(label);
    const float each = terms.smoothing / static_cast<float>(classes);
    const double of_label = static_cast<double>(scores[label]) - static_cast<double>(largest);
    double of_others = 0.0;
    float total = 0.0F, mass = own;
    for (std::uint32_t c = 0; c < classes; ++c) {
        if (each > 0.0F) {
            const float smooth = each * terms.weight_of(c);
            of_others += static_cast<double>(smooth) * (static_cast<double>(scores[c]) - static_cast<double>(largest));
            mass += smooth;
        }
        scores[c] = aggregation::element::exponential(scores[c] - largest);
        total += scores[c];
    }
    const float share = weight * mass / total;
    for (std::uint32_t c = 0; c < classes; ++c) {
        scores[c] *= share;
        if (each > 0.0F) scores[c] -= weight * (each * terms.weight_of(c));
    }
    scores[label] -= weight * own;
    return static_cast<double>(mass) * aggregation::element::logarithm(static_cast<double>(total)) -
           static_cast<double>(own) * of_label - of_others;
}

}  // namespace fedhive::clients
