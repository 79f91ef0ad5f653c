// Losses of a model's answers by the kind of target (clients/data/target.h), computed by LibTorch.
//
//   classes   cross-entropy, -log softmax(answers)[class]; with a class at each position, the mean over an example's positions
//   numbers   squared error, the mean over an example's numbers: nn.MSELoss
//
// Shapes   answers: [B, classes], [B, positions, classes] or [B, numbers], f32; targets: as in BatchTensors.
#pragma once

#include "clients/data/target.h"
#include "clients/models/tensor.h"
#include "clients/protocol/task.h"

namespace fedhive::clients {

/// f32 scalar: the mean over the batch.
at::Tensor mean_loss(const at::Tensor& answers, const at::Tensor& targets, TargetKind kind);

/// The loss of each example in the batches of many rows, [rows, B]; answers and targets have a leading dimension of rows.
at::Tensor losses_of_rows(const at::Tensor& answers, const at::Tensor& targets, TargetKind kind);

/// Sums over the batch, in f64.
EvaluationResult evaluation_of(const at::Tensor& answers, const at::Tensor& targets, TargetKind kind);

}  // namespace fedhive::clients
