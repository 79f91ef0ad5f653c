#include "clients/worker/supervised_step.h"

namespace fedhive::clients {

void SupervisedStep::begin(const ClientStart& start) {
    supervision_.beat();
    inner().begin(start);
}

void SupervisedStep::compute_gradients(std::span<const RowBatch> batches) {
    inner().compute_gradients(batches);
    supervision_.beat();
    // A row's gradient, which becomes one piece if it was not: no step without a fault should pay for that.
    supervision_.fire_in_training([&](std::size_t row) {
        aggregation::ParamSpan gradient;
        inner().for_each_piece([&](const GradientPiece& piece) {
            if (gradient.size == 0) gradient = piece.gradients.row(row);
        });
        return gradient;
    });
    supervision_.throw_if_stopping();
}

/// As one, unless something is to happen between the halves.
void SupervisedStep::step_rows(std::span<const RowBatch> batches) {
    if (supervision_.expects_any()) return TrainingStep::step_rows(batches);
    inner().step_rows(batches);
    supervision_.beat();
    supervision_.throw_if_stopping();
}

}  // namespace fedhive::clients
