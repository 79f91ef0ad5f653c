#include "clients/engine/direct_step.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::MemorySpace;

DirectBatches::DirectBatches(ExampleShape shape, const Normalization& normalization)
    : shape_(shape), gather_(shape, normalization) {}

direct::Batch DirectBatches::gather(const ExamplesView& from, std::span<const std::uint32_t> indices,
                                    std::span<const std::uint32_t> transforms, std::span<const std::uint32_t> next) {
    examples_.resize(std::max(examples_.size(), indices.size() * shape_.num_values()));
    const std::size_t targets = indices.size() * from.target.width;
    element::TargetsTo to{};
    if (from.target.kind == TargetKind::Numbers) {
        numbers_.resize(std::max(numbers_.size(), targets));
        to.numbers = numbers_.data();
    } else {
        labels_.resize(std::max(labels_.size(), targets));
        to.labels = labels_.data();
    }
    gathering_.time([&] { gather_.gather(from, indices, examples_.data(), to, transforms, next); });
    direct::Batch batch{examples_.data(), to.labels, indices.size(), to.numbers};
    if (from.target.ignores) {
        batch.ignores = true;
        batch.counted -= static_cast<std::size_t>(std::count(to.labels, to.labels + indices.size(), kIgnored));
    }
    return batch;
}

DirectStep::DirectStep(direct::Network& network, const ExamplesView& train, const Normalization& normalization,
                       const aggregation::OptimizerOptions& optimizer)
    : network_(network),
      train_(train),
      batches_(train.shape, normalization),
      transforms_(train.augmentation),
      local_(network.layout().num_floats(), MemorySpace::Host),
      gradient_(network.layout().num_trainable(), MemorySpace::Host),
      optimizer_(optimizer, network.layout().num_trainable(), MemorySpace::Host) {}

void DirectStep::begin(const ClientStart& start) {
    start_ = start;
    network_.set_global(start.global.data);
    is_global_ = true;
    optimizer_.begin(start.optimizer_state, start.rate.lr_factor);
    pass_.begin();
    steps_ = 0;
    loss_ = 0.0;
}

/// Before the first step it is a copy of the global model.
aggregation::ParamSpan DirectStep::own_model() {
    if (is_global_) aggregation::copy(local_, start_.global);
    is_global_ = false;
    return local_;
}

direct::Batch DirectStep::gather(const RowBatch& batch) {
    if (const auto announced = pass_.announced_by(batch); !announced.empty()) batches_.expect(train_, announced);
    return batches_.gather(train_, batch.examples, transforms_.of(batch.augmentation_key, batch.examples), batch.lookahead);
}

std::uint64_t DirectStep::next_dropout_key() { return Stream(start_.dropout_seed, Purpose::Dropout, steps_++).next_u64(); }

void DirectStep::compute_gradients(std::span<const RowBatch> batches) {
    const RowBatch& batch = only_batch(batches);
    if (start_.shared) start_.shared.read(trainable());
    const direct::Batch gathered = gather(batch);
    const aggregation::ParamSpan model = own_model();
    const double mean = network_.train(model.data, gradient_.span().data, gathered, next_dropout_key(), model.data);
    if (batch.counts) loss_ += mean * static_cast<double>(gathered.counted);
}

void DirectStep::apply_gradients() {
    optimizer_.begin_step();
    if (start_.shared) return start_.shared.step(gradient_, optimizer_);
    optimizer_.step(trainable(), gradient_);
}

void DirectStep::step_rows(std::span<const RowBatch> batches) {
    if (start_.shared) return TrainingStep::step_rows(batches);
    descend(only_batch(batches), nullptr);
}

void DirectStep::step_changed(std::span<const RowBatch> batches, const ChangePiece& change) {
    // A small gradient stays in the cache, and one piece takes fewer calls.
    constexpr std::size_t kSmall = std::size_t{1} << 15;
    if (start_.shared || gradient_.span().size <= kSmall) return TrainingStep::step_changed(batches, change);
    const auto row = [](float* values, std::size_t size) {
        return aggregation::RowsSpan{values, 1, size, size, MemorySpace::Host};
    };
    const direct::ChangeGradient of_range = [&](direct::ParameterRange range, float* gradient) {
        change({range.first, row(local_.span().data + range.first, range.size), row(gradient, range.size)});
    };
    descend(only_batch(batches), &of_range);
}

void DirectStep::descend(const RowBatch& batch, const direct::ChangeGradient* change) {
    optimizer_.begin_step();
    // The first step goes from the global model to the local one: a pass over all parameters less than by a copy of it.
    const direct::Descent descent{local_.span().data, &optimizer_, is_global_ ? start_.global.data : nullptr, change};
    const direct::Batch gathered = gather(batch);
    const double mean = network_.descend(descent, gradient_.span().data, gathered, next_dropout_key());
    is_global_ = false;
    loss_ += mean * static_cast<double>(gathered.counted);
}

DirectEvaluation::DirectEvaluation(direct::Network& network, ExampleShape shape, const Normalization& normalization)
    : network_(network), batches_(shape, normalization) {}

void DirectEvaluation::evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) {
    network_.evaluate(model_.data, batches_.gather(from, indices), sums);
}

void DirectEvaluation::answer(const ExamplesView& from, std::span<const std::uint32_t> indices, ModelAnswers& answers) {
    network_.answer(model_.data, batches_.gather(from, indices), answers.logits,
                    answers.wants_features ? &answers.features : nullptr);
}

}  // namespace fedhive::clients
