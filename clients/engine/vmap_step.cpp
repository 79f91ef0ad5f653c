#include "clients/engine/vmap_step.h"

#include "aggregation/base/error.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/engine/libtorch_guard.h"
#include "clients/engine/losses.h"
#include "clients/engine/precision_scope.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace fedhive::clients {

VmapStep::VmapStep(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space, const ExamplesView& train,
                   const Normalization& normalization, const aggregation::SgdOptions& optimizer,
                   aggregation::ConstParamSpan frozen, Precision precision)
    : model_(spec, rows, space, frozen),
      optimizer_(optimizer),
      precision_(precision),
      batches_(train, normalization, model_.device()),
      loss_sums_(at::zeros({static_cast<std::int64_t>(rows)}, at::TensorOptions().dtype(at::kDouble).device(model_.device()))) {
    if (optimizer.momentum > 0.0F) velocity_ = aggregation::ParamBuffer(rows * model_.layout().num_floats(), space);
}

void VmapStep::fix_places(std::size_t largest_batch) {
    translated([&] { batches_.reserve(num_rows(), largest_batch); });
    padded_size_ = largest_batch;
}

void VmapStep::begin(const ClientStart& start) {
    start_ = start;
    for (std::size_t row = 0; row < start.rows; ++row) aggregation::copy(model_.parameters(row), start.global);
    aggregation::set_zero(velocity_);
    translated([&] {
        loss_sums_.zero_();
        seed_generator(model_.device(), start.dropout_seed);
    });
}

std::size_t VmapStep::prepare(std::span<const RowBatch> batches) {
    FEDHIVE_CHECK_EQ(batches.size(), start_.rows);
    std::size_t rows = 0, longest = 0;
    for (std::size_t row = 0; row < batches.size(); ++row) {
        if (!batches[row].examples.empty()) rows = row + 1;
        longest = std::max(longest, batches[row].examples.size());
    }
    FEDHIVE_CHECK(longest > 0, "a step of nobody");
    if (padded_size_ > 0) {
        rows = batches.size();
        longest = padded_size_;
    }
    const auto in_use = batches.first(rows);
    somebody_rests_ =
        padded_size_ > 0 || std::ranges::any_of(in_use, [](const RowBatch& batch) { return batch.examples.empty(); });
    model_.use(rows);
    batches_.list(in_use, longest);
    rows_ = rows;
    return rows;
}

void VmapStep::compute_prepared() {
    const Tf32Scope tf32(precision_);
    batches_.gather();
    const MeanLoss of_rows =
        loss_.mean_of_rows(model_.forward(batches_.examples), batches_.targets, batches_.weights, batches_.target());
    const at::Tensor& losses = of_rows.mean;
    if (padded_size_ == 0) gradients_.clear();
    std::vector<at::Tensor>& gradients = gradients_[rows_];
    gradients = torch::autograd::grad({losses.sum()}, model_.columns());
    for (at::Tensor& gradient : gradients) gradient = gradient.contiguous();
    at::Tensor counted = losses.detach().mul(of_rows.counted.defined() ? of_rows.counted : batches_.counts);
    // 0 times an infinity is none of theirs.
    if (somebody_rests_) counted = counted.masked_fill(batches_.counts.eq(0.0), 0.0);
    loss_sums_.narrow(0, 0, losses.size(0)).add_(counted);
}

/// One tensor's part of all rows of the step, of [K, P] floats.
aggregation::RowsSpan VmapStep::columns_of(aggregation::ParamSpan rows, std::size_t tensor) const {
    const aggregation::LayoutEntry& entry = model_.layout().entries()[tensor];
    return {rows.data + entry.offset, rows_, entry.size, model_.layout().num_floats(), rows.space};
}

/// Tensor by tensor, so that the gradients need not be copied into rows first.
void VmapStep::for_each_piece(const std::function<void(const GradientPiece&)>& work) {
    const aggregation::ParamSpan first = model_.parameters(0);
    const std::vector<at::Tensor>& gradients = gradients_.at(rows_);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const aggregation::LayoutEntry& entry = model_.layout().entries()[i];
        work(
            {entry.offset, columns_of(first, i), {gradients[i].data_ptr<float>(), rows_, entry.size, entry.size, first.space}});
    }
}

void VmapStep::apply_gradients() {
    const aggregation::SgdOptions optimizer = aggregation::at_rate(optimizer_, start_.rate.lr_factor);
    const aggregation::ConstParamSpan counts{batches_.counts.data_ptr<float>(),
                                             static_cast<std::size_t>(batches_.counts.size(0)), model_.parameters(0).space};
    std::size_t tensor = 0;
    for_each_piece([&](const GradientPiece& piece) {
        const aggregation::RowsSpan velocity =
            optimizer.momentum > 0.0F ? columns_of(velocity_, tensor) : aggregation::RowsSpan{};
        sgd_step(piece.parameters, piece.gradients, velocity, counts, optimizer);
        ++tensor;
    });
}

double VmapStep::loss_of(std::size_t row) {
    return translated([&] { return loss_sums_[static_cast<std::int64_t>(row)].item<double>(); });
}

void VmapStep::loss_into(double& to, std::size_t row) {
    translated(
        [&] { at::from_blob(&to, {}, at::kDouble).copy_(loss_sums_[static_cast<std::int64_t>(row)], /*non_blocking=*/true); });
}

}  // namespace fedhive::clients
