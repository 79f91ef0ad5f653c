#include "clients/training/direct_step.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::MemorySpace;

DirectBatches::DirectBatches(ExampleShape shape, const Normalization& normalization)
    : shape_(shape), gather_(shape, normalization) {}

direct::Batch DirectBatches::gather(const ExamplesView& from, std::span<const std::uint32_t> indices,
                                    std::span<const std::uint32_t> looks, std::span<const std::uint32_t> next) {
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
    gathering_.time([&] { gather_.gather(from, indices, examples_.data(), to, looks, next); });
    return {examples_.data(), to.labels, indices.size(), to.numbers};
}

DirectStep::DirectStep(direct::Network& network, const ExamplesView& train, const Normalization& normalization,
                       const aggregation::OptimizerOptions& optimizer)
    : network_(network),
      train_(train),
      batches_(train.shape, normalization),
      looks_(train.augmentation),
      local_(network.layout().num_floats(), MemorySpace::Host),
      gradient_(network.layout().num_trainable(), MemorySpace::Host),
      optimizer_(optimizer, network.layout().num_trainable(), MemorySpace::Host) {
    // No layer of this engine has buffers: a first step writes the whole model.
    FEDHIVE_CHECK_EQ(local_.span().size, gradient_.span().size);
}

void DirectStep::begin(const ClientStart& start) {
    start_ = start;
    is_global_ = true;
    optimizer_.begin(start.optimizer_state, start.objective.lr_factor);
    looks_.begin(start.dropout_seed);
    coming_ = {};
    steps_ = 0;
    loss_ = 0.0;
}

/// Where it is looked at before the first step, it is a copy.
aggregation::ParamSpan DirectStep::own_model() {
    if (is_global_) aggregation::copy(local_, start_.global);
    is_global_ = false;
    return local_;
}

void DirectStep::begin_epoch(std::span<const std::uint32_t> order) {
    looks_.begin_epoch();
    coming_ = order;
    batches_.expect(train_, order);
}

direct::Batch DirectStep::gather(std::span<const std::uint32_t> batch) {
    const bool announced = batch.size() <= coming_.size() && batch.data() == coming_.data();
    coming_ = announced ? coming_.subspan(batch.size()) : std::span<const std::uint32_t>();
    return batches_.gather(train_, batch, looks_.of(batch), coming_);
}

std::uint64_t DirectStep::next_dropout_key() { return Stream(start_.dropout_seed, Purpose::Dropout, steps_++).next_u64(); }

void DirectStep::compute_gradient(std::span<const std::uint32_t> batch) {
    if (start_.shared) start_.shared.read(trainable());
    const double mean = network_.train(own_model().data, gradient_.span().data, gather(batch), next_dropout_key());
    loss_ += mean * static_cast<double>(batch.size());
    if (start_.objective.proximal_mu != 0.0F)
        aggregation::add_proximal_gradient(gradient_, trainable(),
                                           {start_.global.data, gradient_.span().size, start_.global.space},
                                           start_.objective.proximal_mu);
}

void DirectStep::apply_gradient() {
    optimizer_.begin_step();
    if (start_.shared) return start_.shared.step(gradient_, optimizer_);
    optimizer_.step(trainable(), gradient_);
}

/// As one where nothing else has to see the gradient in between.
void DirectStep::step(std::span<const std::uint32_t> batch) {
    if (start_.shared || start_.objective.proximal_mu != 0.0F) return TrainingStep::step(batch);
    optimizer_.begin_step();
    // The first step goes from the global model to the local one: a pass over all parameters less than by a copy of it.
    const direct::Descent descent{local_.span().data, &optimizer_, is_global_ ? start_.global.data : nullptr};
    const double mean = network_.descend(descent, gradient_.span().data, gather(batch), next_dropout_key());
    is_global_ = false;
    loss_ += mean * static_cast<double>(batch.size());
}

DirectEvaluation::DirectEvaluation(direct::Network& network, ExampleShape shape, const Normalization& normalization)
    : network_(network), batches_(shape, normalization) {}

EvaluationResult DirectEvaluation::evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices) {
    const direct::Network::Quality quality = network_.evaluate(model_.data, batches_.gather(from, indices));
    EvaluationResult result;
    result.loss_sum = quality.loss_sum;
    result.absolute_sum = quality.absolute_sum;
    result.correct = quality.correct;
    result.among_five = quality.among_five;
    return result;
}

}  // namespace fedhive::clients
