// A pass over examples without training: the sums of a model on any of them, in pieces, and a client's measures
// (clients/tasks/measures.h) of the model that it was sent: of its outputs, and of its gradient.
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

/// Adds the outcomes of a piece of the examples.
using EvaluatePiece = std::function<void(std::span<const std::uint32_t> indices, EvaluationSums& sums)>;

/// The sums of the evaluation's present model over `indices` of `from`, in pieces of `chunk` examples. `after_piece`, if any, is
/// called after each. evaluate, if any: in place of the evaluation's own.
EvaluationSums sums_over(Evaluation& evaluation, const ExamplesView& from, std::span<const std::uint32_t> indices,
                         std::uint64_t chunk, const SumsPlan& plan, const std::function<void()>& after_piece = {},
                         const EvaluatePiece& evaluate = {});

struct MeasureOptions;

/// The mean loss of a model, [P], on these training examples, at least one, as an evaluation has it.
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

/// Measures clients of a run. It changes no model; training that begins later has the bits that it has without the pass.
///
/// Outputs   as an evaluation: no draws, no buffers change.
/// Gradient  mean_gradient() in batches of the training, in training mode, with dropout by (seed, round, client).
/// Order     a client's examples in the order of its shard: same bits in any worker.
/// Memory    the gradient, and as many zeros, each [P], if it is measured.
/// Cost      a pass forward, one forward and backward, or both; waits for a device.
class MeasurePass {
public:
    /// step: of one client, without gradient rules. `reports`: at least one of them a measure. All must outlive this.
    MeasurePass(Evaluation& evaluation, TrainingStep& step, const MeasureOptions& options, const Reports& reports);

    /// Sets the model, [P], of the following clients.
    void begin(aggregation::ConstParamSpan sent);

    /// Writes the measures of a client to their places in `to`. The model of `step` is unspecified afterwards.
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
    bool evaluates_sent_ = false;  // the evaluation has begun with it, and nothing was trained since
    aggregation::ParamBuffer gradient_{}, zeros_{};
};

}  // namespace fedhive::clients
