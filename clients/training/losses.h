// What a model's answers cost, by what is to be told (clients/data/target.h), as LibTorch computes it.
//
//   classes   cross-entropy, -log softmax(answers)[class]; of a class at each position the mean over an example's positions
//   numbers   squared error, the mean over an example's numbers: nn.MSELoss
//
// Shapes   answers: [B, classes], [B, positions, classes] or [B, numbers], f32; targets: as BatchTensors has them.
#pragma once

#include "clients/data/target.h"
#include "clients/models/tensor.h"
#include "clients/protocol/task.h"

namespace fedhive::clients {

/// f32 scalar: the mean over the batch.
at::Tensor mean_loss(const at::Tensor& answers, const at::Tensor& targets, TargetKind kind);

/// Of each example of many rows' batches, [rows, B]; answers and targets with a dimension of rows before all others.
at::Tensor losses_of_rows(const at::Tensor& answers, const at::Tensor& targets, TargetKind kind);

/// Sums over the batch, in f64.
EvaluationResult evaluation_of(const at::Tensor& answers, const at::Tensor& targets, TargetKind kind);

}  // namespace fedhive::clients
