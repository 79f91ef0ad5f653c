#include "tests/support/plain_engine/steps.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::testing {

using aggregation::MemorySpace;
using aggregation::ParamBuffer;

namespace {

struct Loss {
    double sum = 0.0;  // over the rows whose label is not kIgnored
    std::uint64_t ignored = 0;
    std::vector<clients::TargetOutcome> outcomes{};  // of the other rows
    Values of_scores;                                // gradient of the mean
};

Loss cross_entropy(const Values& scores, const std::vector<std::int64_t>& labels) {
    Loss loss{.of_scores = Values(scores.size())};
    const std::size_t classes = scores.size() / labels.size();
    loss.ignored = static_cast<std::uint64_t>(std::ranges::count(labels, clients::kIgnored));
    for (std::size_t row = 0; row < labels.size(); ++row) {
        if (labels[row] == clients::kIgnored) continue;
        const float* score = scores.data() + row * classes;
        const auto label = static_cast<std::size_t>(labels[row]);
        const float* best = std::max_element(score, score + classes);
        std::vector<std::size_t> order(classes);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
        loss.outcomes.push_back({.label = static_cast<std::uint32_t>(label),
                                 .predicted = static_cast<std::uint32_t>(best - score),
                                 .ahead = static_cast<std::uint32_t>(std::ranges::find(order, label) - order.begin())});
        double total = 0.0;
        for (std::size_t k = 0; k < classes; ++k) total += std::exp(static_cast<double>(score[k] - *best));
        loss.sum += std::log(total) - static_cast<double>(score[label] - *best);
        for (std::size_t k = 0; k < classes; ++k)
            loss.of_scores[row * classes + k] =
                static_cast<float>((std::exp(static_cast<double>(score[k] - *best)) / total - (k == label ? 1.0 : 0.0)) /
                                   static_cast<double>(labels.size() - loss.ignored));
    }
    return loss;
}

}  // namespace

PlainExamples::Batch PlainExamples::batch(std::span<const std::uint32_t> indices,
                                          std::span<const std::uint32_t> transforms) const {
    Batch batch{Values(indices.size() * view.shape.num_values()), std::vector<std::int64_t>(indices.size())};
    gather.gather(view, indices, batch.x.data(), {.labels = batch.labels.data()}, transforms);
    return batch;
}

PlainStep::PlainStep(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer,
                     aggregation::ParamSpan local, aggregation::ParamSpan gradient)
    : network_(network),
      train_(train),
      transforms_(train.view.augmentation),
      local_(local),
      gradient_(gradient),
      optimizer_(optimizer, network.layout().num_floats(), MemorySpace::Host) {}

PlainStep::PlainStep(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer)
    : PlainStep(network, train, optimizer, {}, {}) {
    own_local_ = ParamBuffer(network.layout().num_floats(), MemorySpace::Host);
    own_gradient_ = ParamBuffer(network.layout().num_floats(), MemorySpace::Host);
    local_ = own_local_;
    gradient_ = own_gradient_;
}

void PlainStep::begin(const clients::ClientStart& start) {
    start_ = start;
    aggregation::copy(local_, start.global);
    optimizer_.begin(start.optimizer_state, start.rate.lr_factor);
    loss_ = 0.0;
}

void PlainStep::compute_gradients(std::span<const clients::RowBatch> batches) {
    const clients::RowBatch& seen = clients::only_batch(batches);
    if (start_.shared) start_.shared.read(local_);
    PlainExamples::Batch batch = train_.batch(seen.examples, transforms_.of(seen.augmentation_key, seen.examples));
    const float* parameters = local_.data;
    const Loss loss = cross_entropy(network_.forward(parameters, std::move(batch.x), 0, network_.names().size()), batch.labels);
    network_.backward(parameters, gradient_.data, loss.of_scores);
    loss_ += loss.sum;
}

void PlainStep::apply_gradients() {
    optimizer_.begin_step();
    if (start_.shared) return start_.shared.step(gradient_, optimizer_);
    optimizer_.step(local_, gradient_);
}

PlainRows::PlainRows(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer,
                     std::size_t rows)
    : local_(rows * network.layout().num_floats(), MemorySpace::Host), gradient_(local_.span().size, MemorySpace::Host) {
    const std::size_t stride = network.layout().num_floats();
    for (std::size_t row = 0; row < rows; ++row)
        rows_.push_back(std::make_unique<PlainStep>(network, train, optimizer, local_.span().part(row * stride, stride),
                                                    gradient_.span().part(row * stride, stride)));
}

void PlainRows::for_each_piece(const std::function<void(const clients::GradientPiece&)>& work) {
    const std::size_t stride = rows_.front()->parameters().size, rows = stepped_.size();
    work({0,
          {local_.span().data, rows, stride, stride, MemorySpace::Host},
          {gradient_.span().data, rows, stride, stride, MemorySpace::Host}});
}

void PlainRows::begin(const clients::ClientStart& start) {
    stepped_.assign(start.rows, false);
    for (std::size_t row = 0; row < start.rows; ++row) rows_[row]->begin(start);
}

void PlainRows::compute_gradients(std::span<const clients::RowBatch> batches) {
    for (std::size_t row = 0; row < batches.size(); ++row) {
        stepped_[row] = !batches[row].examples.empty();
        if (stepped_[row]) rows_[row]->compute_gradients(batches.subspan(row, 1));
    }
}

void PlainRows::apply_gradients() {
    for (std::size_t row = 0; row < stepped_.size(); ++row)
        if (stepped_[row]) rows_[row]->apply_gradients();
}

void PlainEvaluation::evaluate(const clients::ExamplesView& from, std::span<const std::uint32_t> indices,
                               clients::EvaluationSums& sums) {
    PlainExamples::Batch batch = PlainExamples{from, gather_}.batch(indices);
    const Loss loss =
        cross_entropy(network_.forward(model_.data, std::move(batch.x), 0, network_.names().size()), batch.labels);
    sums.add_loss(loss.sum);
    sums.add_ignored(loss.ignored);
    for (const clients::TargetOutcome& outcome : loss.outcomes) sums.add(outcome);
}

PlainHalf::PlainHalf(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer,
                     const clients::Cut& cut, bool lower, clients::SplitChannel& channel)
    : network_(network),
      train_(train),
      cut_(cut),
      lower_(lower),
      channel_(channel),
      transforms_(train.view.augmentation),
      local_(network.layout().num_floats(), MemorySpace::Host),
      gradient_(network.layout().num_floats(), MemorySpace::Host),
      optimizer_(optimizer, part(local_).size, MemorySpace::Host) {}

void PlainHalf::begin(const clients::ClientStart& start) {
    aggregation::copy(parameters(), start.global);
    optimizer_.begin({}, start.rate.lr_factor);
    loss_ = 0.0;
}

void PlainHalf::compute_gradients(std::span<const clients::RowBatch> batches) {
    const clients::RowBatch& batch = clients::only_batch(batches);
    lower_ ? pass_below(batch) : pass_above(batch.examples);
}

void PlainHalf::pass_below(const clients::RowBatch& batch) {
    const float* whole = local_.span().data;
    const Values activations = network_.forward(
        whole, train_.batch(batch.examples, transforms_.of(batch.augmentation_key, batch.examples)).x, 0, cut_.num_layers);
    std::copy(activations.begin(), activations.end(), channel_.activations().data);
    channel_.send_activations(batch.examples.size());
    FEDHIVE_CHECK_EQ(channel_.receive_gradient(), batch.examples.size());
    const float* back = channel_.gradient().data;
    network_.backward(whole, gradient_.span().data, Values(back, back + activations.size()));
}

void PlainHalf::pass_above(std::span<const std::uint32_t> batch) {
    const float* whole = local_.span().data;
    const std::vector<std::int64_t> labels = train_.batch(batch).labels;
    FEDHIVE_CHECK_EQ(channel_.receive_activations(), batch.size());
    const float* sent = channel_.activations().data;
    Values activations(sent, sent + batch.size() * network_.width_after(cut_.num_layers - 1));
    const Loss loss =
        cross_entropy(network_.forward(whole, std::move(activations), cut_.num_layers, network_.names().size()), labels);
    const Values back = network_.backward(whole, gradient_.span().data, loss.of_scores);
    std::copy(back.begin(), back.end(), channel_.gradient().data);
    channel_.send_gradient(batch.size());
    loss_ += loss.sum;
}

void PlainHalf::apply_gradients() {
    optimizer_.begin_step();
    optimizer_.step(parameters(), gradient());
}

}  // namespace fedhive::testing
