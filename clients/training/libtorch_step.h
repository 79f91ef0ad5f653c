// A training step and an evaluation by LibTorch, eager: any model of the catalog, on the CPU or on a CUDA device.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "clients/models/flat_model.h"
#include "clients/training/batch_tensors.h"
#include "clients/training/precision.h"
#include "clients/training/training_step.h"

namespace fedhive::clients {

/// The sum of a client's losses, in f64: on the device where there is one, so that no step waits for it.
class LossSum {
public:
    explicit LossSum(at::Device device);
    void reset();

    /// mean: f32 scalar, the mean loss of a batch of so many examples.
    void add(const at::Tensor& mean, std::size_t examples);

    /// Waits for the device.
    double sum() const;

    /// f64 scalar; not defined on the CPU.
    at::Tensor on_device() const { return on_device_; }

private:
    double on_host_ = 0.0;
    at::Tensor on_device_;
};

class LibtorchStep final : public TrainingStep {
public:
    /// The model and the examples must outlive the step.
    LibtorchStep(FlatModel& model, const ExamplesView& train, const Normalization& normalization,
                 const aggregation::OptimizerOptions& optimizer, Precision precision = Precision::F32);

    aggregation::ParamSpan parameters() override { return model_.parameters(); }
    aggregation::ParamSpan gradient() override { return model_.gradient(); }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const ClientStart& start) override;
    void begin_epoch(std::span<const std::uint32_t> order) override;
    void compute_gradient(std::span<const std::uint32_t> batch) override;
    void apply_gradient() override;
    double loss_sum() override;
    void loss_sum_into(double& to) override;
    double gather_s() const override { return batches_.gather_s(); }

private:
    friend class GraphStep;  // records compute_untranslated()

    void begin_untranslated(const ClientStart& start);
    void read_shared() const;
    void compute_untranslated(std::span<const std::uint32_t> batch);
    at::Tensor loss_of(const BatchTensors::Batch& batch) const;

    FlatModel& model_;
    ExamplesView train_;
    Precision precision_;
    BatchTensors batches_;
    aggregation::ClientOptimizer optimizer_;
    ClientStart start_;
    at::Tensor one_;  // the loss's gradient of itself
    LossSum losses_;
};

class LibtorchEvaluation final : public Evaluation {
public:
    LibtorchEvaluation(FlatModel& model, ExampleShape shape, const Normalization& normalization);
    void begin(aggregation::ConstParamSpan model) override;
    EvaluationResult evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices) override;

private:
    EvaluationResult evaluate_untranslated(const ExamplesView& from, std::span<const std::uint32_t> indices);

    FlatModel& model_;
    BatchTensors batches_;
};

/// What the environment says to cuBLAS after prepare_libtorch(): 8 buffers of 4 MiB.
inline constexpr const char* kCublasWorkspace = ":4096:8";

/// Number of threads, deterministic algorithms, cuBLAS's workspace, allocator thresholds: once per process, before the first tensor.
void prepare_libtorch(int threads);

}  // namespace fedhive::clients
