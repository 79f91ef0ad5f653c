#include "clients/training/libtorch_batched_step.h"

#include "aggregation/base/error.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/training/libtorch_guard.h"
#include "clients/training/losses.h"
#include "clients/training/precision_scope.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace fedhive::clients {

LibtorchBatchedStep::LibtorchBatchedStep(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space,
                                         const ExamplesView& train, const Normalization& normalization,
                                         const aggregation::SgdOptions& optimizer, aggregation::ConstParamSpan frozen,
                                         Precision precision)
    : model_(spec, rows, space, frozen),
      optimizer_(optimizer),
      precision_(precision),
      batches_(train, normalization, model_.device()),
      loss_sums_(at::zeros({static_cast<std::int64_t>(rows)}, at::TensorOptions().dtype(at::kDouble).device(model_.device()))) {
    if (optimizer.momentum > 0.0F) velocity_ = aggregation::ParamBuffer(rows * model_.layout().num_floats(), space);
}

void LibtorchBatchedStep::pad(std::size_t size) {
    translated([&] { batches_.reserve(num_rows(), size); });
    padded_size_ = size;
}

void LibtorchBatchedStep::begin(const BatchedStart& start) {
    start_ = start;
    for (std::size_t row = 0; row < start.rows; ++row) aggregation::copy(model_.parameters(row), start.global);
    aggregation::set_zero(velocity_);
    translated([&] {
        loss_sums_.zero_();
        seed_generator(model_.device(), start.dropout_seed);
    });
}

void LibtorchBatchedStep::compute_gradients(std::span<const RowBatch> batches) {
    translated([&] {
        list(batches);
        compute_listed();
    });
}

void LibtorchBatchedStep::list(std::span<const RowBatch> batches) {
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
}

void LibtorchBatchedStep::compute_listed() {
    const Tf32Scope tf32(precision_);
    batches_.gather();
    const at::Tensor each = losses_of_rows(model_.forward(batches_.examples), batches_.targets, batches_.target_kind());
    const at::Tensor losses = each.mul(batches_.weights).sum(1);
    gradients_ = torch::autograd::grad({losses.sum()}, model_.columns());
    for (at::Tensor& gradient : gradients_) gradient = gradient.contiguous();
    at::Tensor counted = losses.detach().mul(batches_.counts);
    // 0 times an infinity is none of theirs.
    if (somebody_rests_) counted = counted.masked_fill(batches_.counts.eq(0.0), 0.0);
    loss_sums_.narrow(0, 0, losses.size(0)).add_(counted);
    const float mu = start_.objective.proximal_mu;
    if (mu == 0.0F) return;
    for_each_tensor([&](const Columns& one) { add_proximal_gradient(one.gradients, one.parameters, one.global, mu); });
}

/// Tensor by tensor, so that the gradients need not be copied into rows first.
template <typename Work>
void LibtorchBatchedStep::for_each_tensor(Work work) {
    const std::size_t num_floats = model_.layout().num_floats();
    const aggregation::ParamSpan first = model_.parameters(0);
    const auto rows = static_cast<std::size_t>(gradients_.front().size(0));
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
        const std::size_t offset = model_.layout().entries()[i].offset, size = model_.layout().entries()[i].size;
        Columns one;
        one.parameters = {first.data + offset, rows, size, num_floats, first.space};
        one.gradients = {gradients_[i].data_ptr<float>(), rows, size, size, first.space};
        if (optimizer_.momentum > 0.0F) one.velocity = {velocity_.span().data + offset, rows, size, num_floats, first.space};
        one.global = {start_.global.data + offset, size, first.space};
        work(one);
    }
}

void LibtorchBatchedStep::apply_gradients() {
    const aggregation::SgdOptions optimizer = aggregation::at_rate(optimizer_, start_.objective.lr_factor);
    const aggregation::ConstParamSpan counts{batches_.counts.data_ptr<float>(),
                                             static_cast<std::size_t>(batches_.counts.size(0)), model_.parameters(0).space};
    for_each_tensor([&](const Columns& one) { sgd_step(one.parameters, one.gradients, one.velocity, counts, optimizer); });
}

void LibtorchBatchedStep::loss_sums(std::span<double> sums) {
    translated([&] {
        const at::Tensor on_host = loss_sums_.cpu();
        std::copy_n(on_host.data_ptr<double>(), sums.size(), sums.begin());
    });
}

}  // namespace fedhive::clients
