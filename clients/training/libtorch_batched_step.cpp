#include "clients/training/libtorch_batched_step.h"

#include "aggregation/base/error.h"
#include "clients/training/libtorch_guard.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::ParamSpan;

RowBatches::RowBatches(ExampleShape shape, const Normalization& normalization, std::size_t rows, torch::Device device)
    : gather_(shape, normalization), shape_(shape), rows_(rows), device_(device) {}

void RowBatches::reserve(std::size_t longest) {
    if (longest <= longest_) return;
    longest_ = longest;
    const auto options = torch::TensorOptions().pinned_memory(device_.is_cuda());
    const auto places = static_cast<std::int64_t>(rows_ * longest);
    // Zeros, since rows at rest are computed, too.
    all_examples_ = torch::zeros({places * shape_.channels * shape_.height * shape_.width}, options);
    all_labels_ = torch::zeros({places}, options.dtype(torch::kInt64));
    all_weights_ = torch::zeros({places}, options);
    all_counts_ = torch::zeros({static_cast<std::int64_t>(rows_)}, options);
}

void RowBatches::gather(const ExamplesView& from, std::span<const RowBatch> batches) {
    std::size_t longest = 0;
    for (const RowBatch& batch : batches) longest = std::max(longest, batch.size());
    reserve(longest);
    const std::size_t num_values = shape_.num_values();
    auto* values = all_examples_.data_ptr<float>();
    auto* label = all_labels_.data_ptr<std::int64_t>();
    auto* weight = all_weights_.data_ptr<float>();
    for (std::size_t row = 0; row < batches.size(); ++row) {
        const RowBatch& batch = batches[row];
        all_counts_.data_ptr<float>()[row] = static_cast<float>(batch.size());
        gather_.gather(from, batch, values, label);
        for (std::size_t i = batch.size(); !batch.empty() && i < longest; ++i)
            gather_.gather(from, batch.first(1), values + i * num_values, label + i);
        for (std::size_t i = 0; i < longest; ++i) weight[i] = i < batch.size() ? 1.0F / static_cast<float>(batch.size()) : 0.0F;
        values += longest * num_values;
        label += longest;
        weight += longest;
    }
    const auto rows = static_cast<std::int64_t>(batches.size());
    const auto size = static_cast<std::int64_t>(longest);
    const auto part = [&](const torch::Tensor& all, torch::IntArrayRef shape) {
        return all.narrow(0, 0, c10::multiply_integers(shape)).view(shape).to(device_);
    };
    examples = part(all_examples_, {rows, size, shape_.channels, shape_.height, shape_.width});
    labels = part(all_labels_, {rows, size, 1});
    weights = part(all_weights_, {rows, size});
    counts = part(all_counts_, {rows});
}

LibtorchBatchedStep::LibtorchBatchedStep(const ModelSpec& spec, std::size_t rows, aggregation::MemorySpace space,
                                         const ExamplesView& train, const Normalization& normalization,
                                         const aggregation::SgdOptions& optimizer)
    : model_(spec, rows, space),
      train_(train),
      optimizer_(optimizer),
      batches_(train.shape, normalization, rows, model_.device()),
      loss_sums_(torch::zeros({static_cast<std::int64_t>(rows)},
                              torch::TensorOptions().dtype(torch::kFloat64).device(model_.device()))) {
    if (optimizer.momentum > 0.0F) velocity_ = aggregation::ParamBuffer(rows * model_.layout().num_floats(), space);
}

void LibtorchBatchedStep::begin(const BatchedStart& start) {
    start_ = start;
    for (std::size_t row = 0; row < start.rows; ++row) aggregation::copy(model_.parameters(row), start.global);
    aggregation::set_zero(velocity_);
    loss_sums_.zero_();
    seed_generator(model_.device(), start.dropout_seed);
}

void LibtorchBatchedStep::compute_gradients(std::span<const RowBatch> batches) {
    FEDHIVE_CHECK_EQ(batches.size(), start_.rows);
    at_work_.clear();
    for (std::size_t row = 0; row < batches.size(); ++row)
        if (!batches[row].empty()) at_work_.push_back(row);
    FEDHIVE_CHECK(!at_work_.empty(), "a step of nobody");
    translated([&] { compute_untranslated(batches.first(at_work_.back() + 1)); });
}

void LibtorchBatchedStep::compute_untranslated(std::span<const RowBatch> batches) {
    model_.use(batches.size());
    batches_.gather(train_, batches);
    // Not cross_entropy: it would take the mean over all rows.
    const torch::Tensor scores = torch::log_softmax(model_.forward(batches_.examples), 2);
    const torch::Tensor losses = scores.gather(2, batches_.labels).squeeze(2).mul(batches_.weights).sum(1).neg();
    gradients_ = torch::autograd::grad({losses.sum()}, model_.columns());
    for (torch::Tensor& gradient : gradients_) gradient = gradient.contiguous();
    loss_sums_.narrow(0, 0, losses.size(0)).add_(losses.detach().mul(batches_.counts));
    const float mu = start_.objective.proximal_mu;
    if (mu == 0.0F) return;
    for_each_part(
        [&](const Part& part) { aggregation::add_proximal_gradient(part.gradient, part.parameters, part.global, mu); });
}

/// Tensor by tensor, so that the gradients need not be copied into a row first.
template <typename Work>
void LibtorchBatchedStep::for_each_part(Work work) {
    const auto& entries = model_.layout().entries();
    for (const std::size_t row : at_work_) {
        const ParamSpan local = model_.parameters(row);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const std::size_t offset = entries[i].offset, size = entries[i].size;
            Part part;
            part.parameters = {local.data + offset, size, local.space};
            part.gradient = {gradients_[i].data_ptr<float>() + row * size, size, local.space};
            if (optimizer_.momentum > 0.0F)
                part.velocity = {velocity_.span().data + row * local.size + offset, size, local.space};
            part.global = {start_.global.data + offset, size, local.space};
            work(part);
        }
    }
}

void LibtorchBatchedStep::apply_gradients() {
    for_each_part([&](const Part& part) { aggregation::sgd_step(part.parameters, part.gradient, part.velocity, optimizer_); });
}

void LibtorchBatchedStep::loss_sums(std::span<double> sums) {
    translated([&] {
        const torch::Tensor on_host = loss_sums_.cpu();
        std::copy_n(on_host.data_ptr<double>(), sums.size(), sums.begin());
    });
}

}  // namespace fedhive::clients
