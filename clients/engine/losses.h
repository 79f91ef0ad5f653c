// The losses of a model's outputs (`answers`) by the kind of target (clients/data/target.h), computed by LibTorch.
//
//   classes   cross-entropy, -log softmax(answers)[class]; with a class at each position, the mean over an example's positions
//   numbers   squared error, the mean over an example's numbers: nn.MSELoss
//   ignored   if TargetShape::ignores, targets of kIgnored do not count: the mean is over the others, and 0 if there are none
//
// Shapes   answers: [B, classes], [B, positions, classes] or [B, numbers], f32, for B examples; targets: as in BatchTensors.
#pragma once

#include "clients/data/target.h"
#include "clients/models/tensor.h"
#include "clients/tasks/evaluation_sums.h"
#include "clients/tasks/loss.h"

namespace fedhive::clients {

/// The loss of a batch, or of each row's batch.
struct MeanLoss {
    at::Tensor mean;     // f32; takes part in the backward pass
    at::Tensor counted;  // f32: counted targets / targets per example; undefined if all targets count
};

/// Scalars: mean = Σ loss / number of counted targets.
MeanLoss mean_loss(const at::Tensor& answers, const at::Tensor& targets, TargetShape target);

/// mean[r] = Σ_b weights[r, b] · loss[r, b] for each row r, a client's batch; [rows]. The first dimension of answers and targets is rows.
/// weights: [rows, B], equal for the row's examples and 0 for padding.
MeanLoss mean_losses_of_rows(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& weights,
                             TargetShape target);

/// The loss of local training: one of clients/tasks/loss.h.
class BatchLoss {
public:
    /// The loss of the task itself: mean_loss() and mean_losses_of_rows().
    BatchLoss() = default;
    BatchLoss(const LossPlan& plan, at::Device device);

    /// As mean_loss() and mean_losses_of_rows(). With class weights, a mean is divided by the sum of the weights (LossTerms::share_of).
    MeanLoss mean(const at::Tensor& answers, const at::Tensor& targets, TargetShape target) const;
    MeanLoss mean_of_rows(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& weights,
                          TargetShape target) const;

private:
    MeanLoss of_groups(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& counts,
                       TargetShape target) const;

    LossTerms terms_;
    at::Tensor class_weights_;  // [classes] f32 on the device; undefined without
};

/// Adds the batch's losses, in f64, and the outcomes of its counted targets to `sums`.
void add_evaluation(const at::Tensor& answers, const at::Tensor& targets, TargetShape target, EvaluationSums& sums);

}  // namespace fedhive::clients
