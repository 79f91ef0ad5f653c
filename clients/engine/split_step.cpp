#include "clients/engine/split_step.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/engine/libtorch_guard.h"

#include <ATen/ops/empty.h>

namespace fedhive::clients {

namespace {

/// A tensor over the beginning of a channel's region. Kernels may round differently on memory aligned otherwise than a tensor's own.
at::Tensor view_of(aggregation::ParamSpan region, at::IntArrayRef sizes, const FlatModel& model) {
    FEDHIVE_CHECK(region.space == model.parameters().space && reinterpret_cast<std::uintptr_t>(region.data) % 64 == 0,
                  "a channel's region is in another memory space than the model, or is not aligned");
    FEDHIVE_CHECK(static_cast<std::size_t>(c10::multiply_integers(sizes)) <= region.size,
                  "{} floats do not fit into a channel's region of {}", c10::multiply_integers(sizes), region.size);
    return at::from_blob(region.data, sizes, at::TensorOptions().dtype(at::kFloat).device(model.device()));
}

}  // namespace

ModelHalf::ModelHalf(aggregation::ParamSpan parameters, aggregation::ParamSpan gradient,
                     const aggregation::OptimizerOptions& optimizer)
    : parameters_(parameters), gradient_(gradient), optimizer_(optimizer, parameters.size, parameters.space) {}

void ModelHalf::begin(const ClientStart& start) {
    aggregation::copy(parameters_, start.global);
    optimizer_.begin({}, start.rate.lr_factor);
}

void ModelHalf::descend() {
    optimizer_.begin_step();
    optimizer_.step(parameters_, gradient_);
}

SplitClientStep::SplitClientStep(FlatModel& model, const Cut& cut, const ExamplesView& train,
                                 const Normalization& normalization, const aggregation::OptimizerOptions& optimizer,
                                 SplitChannel& channel)
    : model_(model),
      cut_(cut),
      train_(train),
      batches_(train.shape, normalization, model.device()),
      half_(cut.client_part(model.parameters()), cut.client_part(model.gradient()), optimizer),
      channel_(channel) {}

void SplitClientStep::begin(const ClientStart& start) {
    model_.module().train();
    model_.drop_gradient();
    half_.begin(start);
    seed_generator(model_.device(), start.dropout_seed);
    batches_.begin(train_);
}

void SplitClientStep::compute_gradients(std::span<const RowBatch> batches) {
    translated([&] {
        const RowBatch& batch = only_batch(batches);
        batches_.expect(train_, batch);
        const at::Tensor examples = batches_.gather(train_, batch).examples;
        const at::Tensor activations = model_.module().forward_layers(examples, 0, cut_.num_layers);
        view_of(channel_.activations(), activations.sizes(), model_).copy_(activations.detach());
        aggregation::synchronize(half_.parameters().space);
        channel_.send_activations(batch.examples.size());
        FEDHIVE_CHECK_EQ(channel_.receive_gradient(), batch.examples.size());
        activations.backward(view_of(channel_.gradient(), activations.sizes(), model_));
        model_.take_gradient();
        model_.gradient();  // in one piece; the half's gradient is a part of it
    });
}

SplitServerStep::SplitServerStep(FlatModel& model, const Cut& cut, const ExamplesView& train,
                                 const aggregation::OptimizerOptions& optimizer, SplitChannel& channel)
    : model_(model),
      cut_(cut),
      labels_(train.labels),
      target_(train.target),
      activation_shape_(model.module().shape_after(cut.num_layers)),
      half_(cut.server_part(model.parameters()), cut.server_part(model.gradient()), optimizer),
      channel_(channel),
      losses_(model.device()) {}

void SplitServerStep::begin(const ClientStart& start) {
    model_.module().train();
    model_.drop_gradient();
    half_.begin(start);
    losses_.reset();
    // From the client's own seed, both halves would draw the same masks.
    seed_generator(model_.device(), Stream(start.dropout_seed, Purpose::ServerDropout).next_u64());
}

void SplitServerStep::compute_gradients(std::span<const RowBatch> batches) {
    translated([&] {
        const std::span<const std::uint32_t> batch = only_batch(batches).examples;
        std::vector<std::int64_t> sizes{static_cast<std::int64_t>(batch.size())};
        sizes.insert(sizes.end(), activation_shape_.begin(), activation_shape_.end());
        const at::Tensor labels = labels_of(batch);

        FEDHIVE_CHECK_EQ(channel_.receive_activations(), batch.size());
        const at::Tensor activations = view_of(channel_.activations(), sizes, model_).set_requires_grad(true);
        Classifier& model = model_.module();
        const MeanLoss loss =
            loss_.mean(model.forward_layers(activations, cut_.num_layers, model.num_layers()), labels, target_);
        loss.mean.backward();
        model_.take_gradient();
        model_.gradient();  // in one piece; the half's gradient is a part of it
        view_of(channel_.gradient(), sizes, model_).copy_(activations.grad());
        aggregation::synchronize(half_.parameters().space);
        channel_.send_gradient(batch.size());

        losses_.add(loss, batch.size());
    });
}

double SplitServerStep::loss_of(std::size_t) {
    return translated([&] { return losses_.sum(); });
}

at::Tensor SplitServerStep::labels_of(std::span<const std::uint32_t> batch) const {
    at::Tensor labels = at::empty({static_cast<std::int64_t>(batch.size())}, at::kLong);
    auto* to = labels.data_ptr<std::int64_t>();
    for (const std::uint32_t index : batch) {
        FEDHIVE_CHECK(index < labels_.size(), "example {} of {}", index, labels_.size());
        *to++ = labels_[index];
    }
    return labels.to(model_.device());
}

}  // namespace fedhive::clients
