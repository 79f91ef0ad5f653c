// Losses of a model's answers by the kind of target (clients/data/target.h), computed by LibTorch.
//
//   classes   cross-entropy, -log softmax(answers)[class]; with a class at each position, the mean over an example's positions
//   numbers   squared error, the mean over an example's numbers: nn.MSELoss
//   ignored   targets that are kIgnored, of a data set that has any (TargetShape::ignores): a batch's mean is over the others, 0 where there are none
//
// Shapes   answers: [B, classes], [B, positions, classes] or [B, numbers], f32; targets: as in BatchTensors.
#pragma once

#include "clients/data/target.h"
#include "clients/models/tensor.h"
#include "clients/protocol/task.h"

namespace fedhive::clients {

/// A batch's, or a row's.
struct MeanLoss {
    at::Tensor mean;  // f32; takes part in the backward pass
    /// f32, where targets are ignored: how many examples the counted ones come to; one of which a half counts is half a one. Not defined: all.
    at::Tensor counted;
};

/// Scalars: the mean over the batch.
MeanLoss mean_loss(const at::Tensor& answers, const at::Tensor& targets, TargetShape target);

/// [rows], of many rows' batches; answers and targets with a dimension of rows before all others. weights: [rows, B], what an example counts in its
/// row's mean; of examples that count alike, and of others that only fill a batch up, at 0.
MeanLoss mean_losses_of_rows(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& weights,
                             TargetShape target);

/// Sums over the batch, in f64.
EvaluationResult evaluation_of(const at::Tensor& answers, const at::Tensor& targets, TargetShape target);

}  // namespace fedhive::clients
