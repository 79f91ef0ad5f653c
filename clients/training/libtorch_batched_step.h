// A local step of many clients at once by LibTorch's vmap: any model of the catalog, on the CPU or on a CUDA device.
#pragma once

#include "aggregation/math/row_ops.h"
#include "clients/models/batched_model.h"
#include "clients/training/precision.h"
#include "clients/training/row_batches.h"

#include <vector>

namespace fedhive::clients {

class LibtorchBatchedStep final : public BatchedStep {
public:
    /// Memory   [K, P] parameters, gradients, and momentum if there is one.
    /// precision: F32 or TF32, of forward and backward pass.
    /// The examples and what is frozen, [F], must outlive the step.
    LibtorchBatchedStep(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space, const ExamplesView& train,
                        const Normalization& normalization, const aggregation::SgdOptions& optimizer,
                        aggregation::ConstParamSpan frozen = {}, Precision precision = Precision::F32);

    /// From now on all steps of a start have one shape: all of its rows, those at rest, too, and batches filled up to `size`. Larger batches are
    /// refused. The last bits and dropout are those of that shape.
    void pad(std::size_t size);

    std::size_t num_rows() const override { return model_.num_rows(); }
    aggregation::ParamSpan parameters(std::size_t row) override { return model_.parameters(row); }
    void begin(const BatchedStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override;
    void loss_sums(std::span<double> sums) override;
    double gather_s() const override { return batches_.gather_s(); }

private:
    friend class GraphBatchedStep;  // lists a step, and records what follows

    /// One tensor of the rows in use: their parameters, gradients, momentum.
    struct Columns {
        aggregation::RowsSpan parameters, gradients, velocity;
        aggregation::ConstParamSpan global;
    };
    template <typename Work>
    void for_each_tensor(Work work);
    void list(std::span<const RowBatch> batches);
    void compute_listed();

    BatchedModel model_;
    aggregation::SgdOptions optimizer_;
    Precision precision_;
    RowBatches batches_;
    std::size_t padded_size_ = 0;        // 0: as large as the largest batch
    bool somebody_rests_ = false;        // in this step
    aggregation::ParamBuffer velocity_;  // [K, P], empty when momentum is 0
    BatchedStart start_;
    std::vector<at::Tensor> gradients_;  // [rows, shape…] for each entry of the layout; as they came from the backward pass
    at::Tensor loss_sums_;               // [K] f64 on the device, so that no step waits for it
};

}  // namespace fedhive::clients
