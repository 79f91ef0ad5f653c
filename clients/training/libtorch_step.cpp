#include "clients/training/libtorch_step.h"

#include "clients/training/libtorch_guard.h"
#include "clients/training/losses.h"
#include "clients/training/precision_scope.h"

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <malloc.h>

#include <cstdlib>

namespace fedhive::clients {

using aggregation::MemorySpace;

LossSum::LossSum(at::Device device) {
    if (!device.is_cpu()) on_device_ = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device));
}

void LossSum::reset() {
    on_host_ = 0.0;
    if (on_device_.defined()) on_device_.zero_();
}

void LossSum::add(const at::Tensor& mean, std::size_t examples) {
    if (on_device_.defined())
        on_device_.add_(mean.detach(), static_cast<double>(examples));
    else
        on_host_ += static_cast<double>(*mean.const_data_ptr<float>()) * static_cast<double>(examples);
}

double LossSum::sum() const { return on_device_.defined() ? on_device_.item<double>() : on_host_; }

LibtorchStep::LibtorchStep(FlatModel& model, const ExamplesView& train, const Normalization& normalization,
                           const aggregation::OptimizerOptions& optimizer, Precision precision)
    : model_(model),
      train_(train),
      precision_(precision),
      batches_(train.shape, normalization, model.device()),
      optimizer_(optimizer, model.trainable().size, model.parameters().space),
      one_(at::ones({}, at::TensorOptions().device(model.device()))),
      losses_(model.device()) {}

void LibtorchStep::begin(const ClientStart& start) {
    translated([&] { begin_untranslated(start); });
}

void LibtorchStep::begin_untranslated(const ClientStart& start) {
    start_ = start;
    if (!model_.module().is_training()) model_.module().train();
    aggregation::copy(model_.parameters(), start.global);
    optimizer_.begin(start.optimizer_state, start.objective.lr_factor);
    model_.drop_gradient();
    losses_.reset();
    seed_generator(model_.device(), start.dropout_seed);
    batches_.begin(train_, start.dropout_seed);
}

void LibtorchStep::begin_epoch(std::span<const std::uint32_t> order) {
    translated([&] { batches_.expect(train_, order); });
}

void LibtorchStep::compute_gradient(std::span<const std::uint32_t> batch) {
    translated([&] {
        read_shared();
        compute_untranslated(batch);
    });
}

void LibtorchStep::read_shared() const {
    if (start_.shared) start_.shared.read(model_.trainable());
}

void LibtorchStep::compute_untranslated(std::span<const std::uint32_t> batch) {
    const Tf32Scope tf32(precision_);
    const BatchTensors::Batch examples = batches_.gather(train_, batch);
    const at::Tensor loss = loss_of(examples);
    loss.backward(one_);
    model_.take_gradient();
    if (start_.objective.proximal_mu != 0.0F)
        aggregation::add_proximal_gradient(model_.gradient(), model_.trainable(),
                                           {start_.global.data, model_.trainable().size, start_.global.space},
                                           start_.objective.proximal_mu);
    losses_.add(loss, batch.size());
}

at::Tensor LibtorchStep::loss_of(const BatchTensors::Batch& batch) const {
    at::Tensor answers;
    {
        const AutocastScope autocast(precision_, model_.device());
        answers = model_.module().forward(batch.examples);
    }
    if (answers.scalar_type() != at::kFloat) answers = answers.to(at::kFloat);
    return mean_loss(answers, batch.targets, train_.target.kind);
}

void LibtorchStep::apply_gradient() {
    optimizer_.begin_step();
    if (start_.shared) return start_.shared.step(model_.gradient(), optimizer_);
    model_.descend(optimizer_);
}

double LibtorchStep::loss_sum() {
    return translated([&] { return losses_.sum(); });
}

void LibtorchStep::loss_sum_into(double& to) {
    if (model_.device().is_cpu()) {
        to = loss_sum();
        return;
    }
    translated([&] { at::from_blob(&to, {}, at::kDouble).copy_(losses_.on_device(), /*non_blocking=*/true); });
}

LibtorchEvaluation::LibtorchEvaluation(FlatModel& model, ExampleShape shape, const Normalization& normalization)
    : model_(model), batches_(shape, normalization, model.device()) {}

void LibtorchEvaluation::begin(aggregation::ConstParamSpan model) {
    translated([&] {
        model_.module().eval();
        // A model that this one's step has just trained is there already.
        if (model.data != model_.parameters().data) aggregation::copy(model_.parameters(), model);
    });
}

EvaluationResult LibtorchEvaluation::evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices) {
    return translated([&] { return evaluate_untranslated(from, indices); });
}

EvaluationResult LibtorchEvaluation::evaluate_untranslated(const ExamplesView& from, std::span<const std::uint32_t> indices) {
    const at::NoGradGuard no_grad;
    const auto [examples, targets] = batches_.gather(from, indices);
    return evaluation_of(model_.module().forward(examples), targets, from.target.kind);
}

void prepare_libtorch(int threads) {
    // cuBLAS chooses its way by the room it has: one size for all processes, or a worker's bits are not the coordinator's.
    setenv("CUBLAS_WORKSPACE_CONFIG", kCublasWorkspace, 1);
    // glibc would return the memory of every convolution to the kernel and fault it in again at the next step.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
    at::set_num_threads(threads);
    // LibTorch refuses a second time; a process that has two trainers, one after the other, does not mind.
    [[maybe_unused]] static const bool once = (at::set_num_interop_threads(1), true);
    at::globalContext().setBenchmarkCuDNN(false);
    at::globalContext().setDeterministicCuDNN(true);
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
}

}  // namespace fedhive::clients
