// The loss of one target that is a class, by its kind; a line for each kind. For host and device. C++17.
#pragma once

#include "clients/tasks/losses/cross_entropy.h"
#include "clients/tasks/losses/focal.h"
#include "clients/tasks/losses/row_losses.h"

namespace fedhive::clients {

/// The loss; `scores`, [classes], become its gradient times `weight`.
FEDHIVE_HOST_DEVICE double class_loss(float* scores, std::uint32_t classes, std::uint32_t label, float weight,
                                      const LossTerms& terms) {
    switch (terms.kind) {
        case LossKind::CrossEntropy:
            return cross_entropy(scores, classes, label, weight, terms);
        case LossKind::Focal:
            return focal(scores, classes, label, weight, terms);
        case LossKind::SquaredError:
            break;  // of numbers
    }
    return 0.0;
}

/// One row of compute() (row_losses.h).
FEDHIVE_HOST_DEVICE void weighted_row(const RowLosses& rows, std::size_t row) {
    float* const scores = rows.scores + row * rows.num_classes;
    const float weight = rows.weights[row];
    if (weight == 0.0F) {
        for (std::uint32_t c = 0; c < rows.num_classes; ++c) scores[c] = 0.0F;
        rows.losses[row] = 0.0F;
        return;
    }
    const double loss = class_loss(scores, rows.num_classes, static_cast<std::uint32_t>(rows.classes[row]), weight, rows.terms);
    rows.losses[row] = static_cast<float>(static_cast<double>(weight) * loss);
}

}  // namespace fedhive::clients
