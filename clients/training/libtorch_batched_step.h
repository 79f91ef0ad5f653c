// A local step of many clients at once by LibTorch's vmap: any model of the catalog, on the CPU or on a CUDA device.
#pragma once

#include "aggregation/math/vector_ops.h"
#include "clients/data/batches.h"
#include "clients/models/batched_model.h"
#include "clients/training/batched_step.h"

#include <torch/torch.h>

#include <vector>

namespace fedhive::clients {

/// The batches of all rows as tensors over memory of fixed places, large enough for the largest step. A shorter batch is filled up with its
/// own first example, at weight 0: a value that its row computes anyway, so nothing is infinite that would not be.
class RowBatches {
public:
    RowBatches(ExampleShape shape, const Normalization& normalization, std::size_t rows, torch::Device device);

    /// Valid until the next call. Rows with an empty batch keep examples of a step before, at weight 0.
    void gather(const ExamplesView& from, std::span<const RowBatch> batches);

    torch::Tensor examples;  // [rows, B, channels, height, width] f32
    torch::Tensor labels;    // [rows, B, 1] i64
    torch::Tensor weights;   // [rows, B] f32: what an example counts in its row's mean loss
    torch::Tensor counts;    // [rows] f32: examples of each row's batch

private:
    void reserve(std::size_t longest);

    BatchGather gather_;
    ExampleShape shape_;
    std::size_t rows_;
    torch::Device device_;
    std::size_t longest_ = 0;                                             // batch that there is memory for
    torch::Tensor all_examples_, all_labels_, all_weights_, all_counts_;  // on the host
};

class LibtorchBatchedStep final : public BatchedStep {
public:
    /// Memory   [K, P] parameters, gradients, and momentum if there is one.
    /// The examples must outlive the step.
    LibtorchBatchedStep(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space, const ExamplesView& train,
                        const Normalization& normalization, const aggregation::SgdOptions& optimizer);

    std::size_t num_rows() const override { return model_.num_rows(); }
    aggregation::ParamSpan parameters(std::size_t row) override { return model_.parameters(row); }
    void begin(const BatchedStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override;
    void loss_sums(std::span<double> sums) override;

private:
    /// One tensor of one row: its parameters, its gradient, its momentum.
    struct Part {
        aggregation::ParamSpan parameters, gradient, velocity;
        aggregation::ConstParamSpan global;
    };
    template <typename Work>
    void for_each_part(Work work);
    void compute_untranslated(std::span<const RowBatch> batches);

    BatchedModel model_;
    ExamplesView train_;
    aggregation::SgdOptions optimizer_;
    RowBatches batches_;
    aggregation::ParamBuffer velocity_;  // [K, P], empty when momentum is 0
    BatchedStart start_;
    std::vector<torch::Tensor> gradients_;  // [rows, shape…] for each entry of the layout; as they came from the backward pass
    std::vector<std::size_t> at_work_;      // rows with a batch in this step
    torch::Tensor loss_sums_;               // [K] f64 on the device, so that no step waits for it
};

}  // namespace fedhive::clients
