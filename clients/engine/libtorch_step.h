// A training step and an evaluation by LibTorch, eager: any model of the catalog, on the CPU or on a CUDA device.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "clients/engine/batch_tensors.h"
#include "clients/engine/formula_losses.h"
#include "clients/engine/losses.h"
#include "clients/engine/precision.h"
#include "clients/engine/recorded_step.h"
#include "clients/models/flat_model.h"

namespace fedhive::clients {

/// The sum of a client's losses in f64; on a device it stays there, so that no step waits for it.
class LossSum {
public:
    explicit LossSum(at::Device device);
    void reset();

    /// Adds the mean loss of a batch, times its number of examples.
    void add(const MeanLoss& loss, std::size_t examples);

    /// The sum; waits for the device.
    double sum() const;

    /// The sum as an f64 scalar on the device; undefined on the CPU.
    at::Tensor on_device() const { return on_device_; }

private:
    double on_host_ = 0.0;
    at::Tensor on_device_;
};

class LibtorchStep final : public OneRowStep<RecordableStep> {
public:
    /// The model and the examples must outlive the step.
    LibtorchStep(FlatModel& model, const ExamplesView& train, const Normalization& normalization,
                 const aggregation::OptimizerOptions& optimizer, Precision precision = Precision::F32);

    /// Sets the loss of the following steps; before that, it is the task's own.
    void set_loss(const LossPlan& loss) { loss_ = BatchLoss(loss, model_.device()); }
    /// Sets a formula that replaces the loss for clients for which it is on (is_on()); null: none. It must outlive the step.
    void set_loss(FormulaLosses* formula) { formula_ = formula; }

    aggregation::ParamSpan parameters_of(std::size_t) override { return model_.parameters(); }
    aggregation::ParamSpan gradient() override { return model_.gradient(); }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const ClientStart& start) override;
    void apply_gradients() override;
    double loss_of(std::size_t row) override;
    void loss_into(double& to, std::size_t row) override;
    double gather_s() const override { return batches_.gather_s(); }

    /// Only for a model and examples on CUDA.
    void fix_places(std::size_t largest_batch) override;
    std::size_t prepare(std::span<const RowBatch> batches) override;
    void compute_prepared() override;
    std::vector<at::Tensor> what_computing_changes() override;

private:
    void begin_untranslated(const ClientStart& start);
    MeanLoss loss_of_batch(const BatchTensors::Batch& batch) const;

    FlatModel& model_;
    ExamplesView train_;
    Precision precision_;
    BatchTensors batches_;
    aggregation::ClientOptimizer optimizer_;
    ClientStart start_;
    RowBatch batch_;     // of the prepared step
    at::Tensor cursor_;  // with fixed places, [1] i64: position of the next batch in the announced indices
    at::Tensor one_;     // the loss's gradient with respect to itself
    BatchLoss loss_;
    FormulaLosses* formula_ = nullptr;
    LossSum losses_;
};

class LibtorchEvaluation final : public Evaluation {
public:
    LibtorchEvaluation(FlatModel& model, ExampleShape shape, const Normalization& normalization);
    void begin(aggregation::ConstParamSpan model) override;
    void evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) override;
    void answer(const ExamplesView& from, std::span<const std::uint32_t> indices, ModelAnswers& answers) override;

private:
    void evaluate_untranslated(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums);

    FlatModel& model_;
    BatchTensors batches_;
};

/// Value of cuBLAS's environment variable for workspaces after prepare_libtorch(): 8 buffers of 4 MiB.
inline constexpr const char* kCublasWorkspace = ":4096:8";

/// Sets number of threads, deterministic algorithms, cuBLAS's workspace and allocator thresholds. Once
/// per process, before the first tensor.
void prepare_libtorch(int threads);

}  // namespace fedhive::clients
