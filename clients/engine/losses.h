// Losses of a model's answers by the kind of target (clients/data/target.h), computed by LibTorch.
//
//   classes   cross-entropy, -log softmax(answers)[class]; with a class at each position, the mean over an example's positions
//   numbers   squared error, the mean over an example's numbers: nn.MSELoss
//   ignored   if TargetShape::ignores, targets of kIgnored do not count: the mean is over the others, and 0 if there are none
//
// Shapes   answers: [B, classes], [B, positions, classes] or [B, numbers], f32; targets: as in BatchTensors.
#pragma once

#include "clients/data/target.h"
#include "clients/models/tensor.h"
#include "clients/protocol/task.h"

namespace fedhive::clients {

/// The loss of a batch, or of each row's batch.
struct MeanLoss {
    at::Tensor mean;     // f32; takes part in the backward pass
    at::Tensor counted;  // f32: counted targets / targets per example; undefined if all targets count
};

/// Scalars: mean = Σ loss / number of counted targets.
MeanLoss mean_loss(const at::Tensor& answers, const at::Tensor& targets, TargetShape target);

/// [rows]: mean[r] = Σ_b weights[r, b] · loss[r, b]. answers and targets have a dimension of rows before all others. weights:
/// [rows, B], equal for the row's examples and 0 for padding.
MeanLoss mean_losses_of_rows(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& weights,
                             TargetShape target);

/// Sums over the batch's counted targets, in f64.
EvaluationResult evaluation_of(const at::Tensor& answers, const at::Tensor& targets, TargetShape target);

}  // namespace fedhive::clients
