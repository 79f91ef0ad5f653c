// A local step of many clients at once by LibTorch's vmap: any model of the catalog, on the CPU or on a CUDA device.
#pragma once

#include "aggregation/math/row_ops.h"
#include "clients/engine/losses.h"
#include "clients/engine/precision.h"
#include "clients/engine/recorded_step.h"
#include "clients/engine/row_batches.h"
#include "clients/models/batched_model.h"

#include <map>
#include <vector>

namespace fedhive::clients {

class VmapStep final : public RecordableStep {
public:
    /// precision: F32 or TF32, of forward and backward pass. The examples and `frozen`, the frozen parameters, must outlive the step.
    /// Memory: for each row, the model's floats for parameters, for gradients, and for momentum if there is one.
    VmapStep(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space, const ExamplesView& train,
             const Normalization& normalization, const aggregation::SgdOptions& optimizer,
             aggregation::ConstParamSpan frozen = {}, Precision precision = Precision::F32);

    /// Sets the loss of the following steps; before that, it is the task's own.
    void set_loss(const LossPlan& loss) { loss_ = BatchLoss(loss, model_.device()); }

    std::size_t num_rows() const override { return model_.num_rows(); }
    aggregation::ParamSpan parameters_of(std::size_t row) override { return model_.parameters(row); }
    void for_each_piece(const std::function<void(const GradientPiece&)>& work) override;
    void begin(const ClientStart& start) override;
    void apply_gradients() override;
    double loss_of(std::size_t row) override;
    void loss_into(double& to, std::size_t row) override;
    double gather_s() const override { return batches_.gather_s(); }

    /// Gives all steps after a begin() one shape: all rows, also those at rest, with batches padded to `largest_batch`. Last bits and dropout
    /// are those of that shape.
    void fix_places(std::size_t largest_batch) override;
    std::size_t prepare(std::span<const RowBatch> batches) override;
    void compute_prepared() override;
    std::vector<at::Tensor> what_computing_changes() override { return {loss_sums_}; }

private:
    aggregation::RowsSpan columns_of(aggregation::ParamSpan rows, std::size_t tensor) const;

    BatchedModel model_;
    aggregation::SgdOptions optimizer_;
    Precision precision_;
    BatchLoss loss_;
    RowBatches batches_;
    std::size_t padded_size_ = 0;        // batch size with fixed places; 0: the step's largest batch
    bool somebody_rests_ = false;        // a row rests in this step
    aggregation::ParamBuffer velocity_;  // a row of the model's floats for each client; empty when momentum is 0
    ClientStart start_;
    std::size_t rows_ = 0;  // of the prepared step
    /// By number of rows: the gradients of the backward pass, [rows, shape…] for each tensor of the layout. Without fixed places it has one
    /// entry only.
    std::map<std::size_t, std::vector<at::Tensor>> gradients_;
    at::Tensor loss_sums_;  // [rows] f64 on the device, so that no step waits for it
};

}  // namespace fedhive::clients
