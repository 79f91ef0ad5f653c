#include "clients/engine/libtorch_step.h"

#include "clients/engine/libtorch_guard.h"
#include "clients/engine/precision_scope.h"

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

void LossSum::add(const MeanLoss& loss, std::size_t examples) {
    const at::Tensor& mean = loss.mean;
    if (loss.counted.defined() && on_device_.defined())
        on_device_.add_(mean.detach().mul(loss.counted));
    else if (loss.counted.defined())
        on_host_ +=
            static_cast<double>(*mean.const_data_ptr<float>()) * static_cast<double>(*loss.counted.const_data_ptr<float>());
    else if (on_device_.defined())
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
    optimizer_.begin(start.optimizer_state, start.rate.lr_factor);
    model_.drop_gradient();
    losses_.reset();
    seed_generator(model_.device(), start.dropout_seed);
    batches_.begin(train_);
    if (formula_ != nullptr && formula_->is_on()) formula_->begin(start.global);
}

void LibtorchStep::fix_places(std::size_t largest_batch) {
    cursor_ = at::zeros({1}, at::TensorOptions().dtype(at::kLong).device(model_.device()));
    batches_.follow(train_, largest_batch, cursor_.data_ptr<std::int64_t>());
}

std::size_t LibtorchStep::prepare(std::span<const RowBatch> batches) {
    batch_ = only_batch(batches);
    if (batches_.expect(train_, batch_) && cursor_.defined()) cursor_.zero_();
    if (start_.shared) start_.shared.read(model_.trainable());
    return batch_.examples.size();
}

void LibtorchStep::compute_prepared() {
    const Tf32Scope tf32(precision_);
    const auto size = batch_.examples.size();
    const MeanLoss loss = loss_of_batch(batches_.gather(train_, batch_));
    loss.mean.backward(one_);
    model_.take_gradient();
    if (batch_.counts) losses_.add(loss, size);
    if (!cursor_.defined()) return;
    model_.gradient();  // in one piece, whose place is always the same
    cursor_.add_(static_cast<std::int64_t>(size));
}

std::vector<at::Tensor> LibtorchStep::what_computing_changes() {
    const aggregation::ParamSpan local = model_.parameters();  // a forward pass changes its buffers
    return {cursor_, losses_.on_device(),
            at::from_blob(local.data, {static_cast<std::int64_t>(local.size)},
                          at::TensorOptions().dtype(at::kFloat).device(model_.device()))};
}

MeanLoss LibtorchStep::loss_of_batch(const BatchTensors::Batch& batch) const {
    if (formula_ != nullptr && formula_->is_on()) {
        const FormulaLosses::AllAnswers all = [&] {
            const AutocastScope autocast(precision_, model_.device());
            return formula_->answers(model_.module(), batch.examples);
        }();
        return formula_->mean(all, batch.targets, train_.target);
    }
    at::Tensor answers;
    {
        const AutocastScope autocast(precision_, model_.device());
        answers = model_.module().forward(batch.examples);
    }
    if (answers.scalar_type() != at::kFloat) answers = answers.to(at::kFloat);
    return loss_.mean(answers, batch.targets, train_.target);
}

void LibtorchStep::apply_gradients() {
    optimizer_.begin_step();
    if (start_.shared) return start_.shared.step(model_.gradient(), optimizer_);
    model_.descend(optimizer_);
}

double LibtorchStep::loss_of(std::size_t) {
    return translated([&] { return losses_.sum(); });
}

void LibtorchStep::loss_into(double& to, std::size_t row) {
    if (model_.device().is_cpu()) {
        to = loss_of(row);
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

void LibtorchEvaluation::evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) {
    translated([&] { evaluate_untranslated(from, indices, sums); });
}

void LibtorchEvaluation::evaluate_untranslated(const ExamplesView& from, std::span<const std::uint32_t> indices,
                                               EvaluationSums& sums) {
    const at::NoGradGuard no_grad;
    batches_.expect(from, {indices});
    const auto [examples, targets] = batches_.gather(from, {indices});
    add_evaluation(model_.module().forward(examples), targets, from.target, sums);
}

void LibtorchEvaluation::answer(const ExamplesView& from, std::span<const std::uint32_t> indices, ModelAnswers& answers) {
    translated([&] {
        const at::NoGradGuard no_grad;
        batches_.expect(from, {indices});
        const FormulaLosses::Answers given =
            answers_of(model_.module(), batches_.gather(from, {indices}).examples, answers.wants_features);
        const auto written = [](const at::Tensor& values, std::vector<float>& to) {
            const at::Tensor here = values.to(at::kCPU, at::kFloat).contiguous();
            to.assign(here.const_data_ptr<float>(), here.const_data_ptr<float>() + here.numel());
        };
        written(given.logits, answers.logits);
        if (answers.wants_features) written(given.features, answers.features);
    });
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
