// Passes over examples without training: the evaluation sums of a model, and a client's measures (clients/tasks/measures.h) of the model that
// it was sent.
#pragma once

#include "aggregation/memory/param_buffer.h"
#include "clients/engine/training_step.h"
#include "clients/protocol/reports.h"
#include "clients/tasks/evaluation_sums.h"
#include "clients/visit/local_training.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace fedhive::clients {

/// Adds the outcomes of some examples to `sums`.
using EvaluatePiece = std::function<void(std::span<const std::uint32_t> indices, EvaluationSums& sums)>;

/// The sums of the evaluation's present model over `indices` of `from`, in pieces of `chunk` examples. `after_piece` is called after each
/// piece. evaluate: replaces the evaluation's own function. Both may be empty.
EvaluationSums sums_over(Evaluation& evaluation, const ExamplesView& from, std::span<const std::uint32_t> indices,
                         std::uint64_t chunk, const SumsPlan& plan, const std::function<void()>& after_piece = {},
                         const EvaluatePiece& evaluate = {});

struct MeasureOptions;

/// The mean loss of a model over training examples, at least one, as an evaluation computes it.
double mean_loss_of_model(Evaluation& evaluation, const MeasureOptions& options, aggregation::ConstParamSpan model,
                          std::span<const std::uint32_t> examples, const std::function<void()>& after_piece = {});

/// The settings of a run that a pass needs.
struct MeasureOptions {
    ExamplesView train;
    SumsPlan sums;
    std::uint64_t chunk = 0;  // examples in a pass forward at a time
    LocalTraining training;   // batches of the gradient, and the key of its dropout
};

struct MeasuredClient {
    std::uint32_t round = 0;
    std::uint32_t client_id = 0;
    std::span<const std::uint32_t> shard;  // its training examples, at least one
};

/// Measures clients of a run. It changes no model, and no bit of the training that begins later.
///
/// Outputs   as an evaluation: no draws, no buffers change.
/// Gradient  mean_gradient() in batches of the training, in training mode, with dropout by (seed, round, client).
/// Order     a client's examples in the order of its shard: same bits in any worker.
/// Memory    if the gradient is measured, two vectors as long as the model.
/// Cost      a forward pass for outputs, a forward and a backward pass for the gradient; waits for a device.
class MeasurePass {
public:
    /// step: of one client, without gradient rules. `reports`: at least one of them is a measure. All must outlive this object.
    MeasurePass(Evaluation& evaluation, TrainingStep& step, const MeasureOptions& options, const Reports& reports);

    /// Sets the model that the following clients are sent.
    void begin(aggregation::ConstParamSpan sent);

    /// Writes a client's measures to their indices in `to`. The model of `step` is unspecified afterwards.
    void measure(const MeasuredClient& client, ReportValues& to, const std::function<void()>& after_piece = {});

private:
    double gradient_norm(const MeasuredClient& client);

    Evaluation& evaluation_;
    TrainingStep& step_;
    MeasureOptions options_;
    const Reports& reports_;
    bool of_outputs_;
    std::optional<std::size_t> gradient_norm_;  // its place among the reports
    aggregation::ConstParamSpan sent_{};
    bool evaluates_sent_ = false;  // the evaluation still has the model of begin()
    aggregation::ParamBuffer gradient_{}, zeros_{};
};

}  // namespace fedhive::clients
