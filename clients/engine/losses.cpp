#include "clients/engine/losses.h"

#include "aggregation/base/error.h"
#include "clients/tasks/losses/compute_rows.h"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

namespace fedhive::clients {

namespace {

/// The value of cross_entropy_loss, from fewer operators: their overhead counts in a small model's step.
at::Tensor mean_cross_entropy(const at::Tensor& scores, const at::Tensor& classes) {
    return std::get<0>(at::nll_loss_forward(at::_log_softmax(scores, 1, false), classes, {}, at::Reduction::Mean, kIgnored));
}

/// scores: [n, classes]; classes: [n]. All of them count.
void add_classes(const at::Tensor& scores, const at::Tensor& classes, double width, EvaluationSums& sums) {
    sums.add_loss(at::cross_entropy_loss(scores, classes, {}, at::Reduction::None).to(at::kDouble).sum().item<double>() /
                  width);
    const at::Tensor on_host = scores.to(at::kCPU).contiguous(), labels = classes.to(at::kCPU).contiguous();
    const auto size = static_cast<std::uint32_t>(scores.size(1));
    for (std::int64_t r = 0; r < scores.size(0); ++r)
        sums.add(class_outcome(on_host.const_data_ptr<float>() + r * size, size,
                               static_cast<std::uint32_t>(labels.const_data_ptr<std::int64_t>()[r])));
}

/// The same of the counted ones alone.
void add_counted(const at::Tensor& scores, const at::Tensor& classes, double width, EvaluationSums& sums) {
    const at::Tensor places = classes.ne(kIgnored).nonzero().squeeze(1);
    if (places.size(0) > 0) add_classes(scores.index_select(0, places), classes.index_select(0, places), width, sums);
    sums.add_ignored(static_cast<std::uint64_t>(classes.size(0) - places.size(0)));
}

/// How many counted targets there are along the last dimensions, as examples.
at::Tensor in_examples(const at::Tensor& counted, TargetShape target) {
    return target.width == 1 ? counted : counted.div(static_cast<double>(target.width));
}

/// scores: [n, classes]; classes: [n]. Without a target that counts, the sum and its gradient are 0.
MeanLoss mean_of_counted(const at::Tensor& scores, const at::Tensor& classes, TargetShape target) {
    const at::Tensor counted = classes.ne(kIgnored).sum().to(at::kFloat);
    const at::Tensor sum =
        std::get<0>(at::nll_loss_forward(at::_log_softmax(scores, 1, false), classes, {}, at::Reduction::Sum, kIgnored));
    return {sum.div(counted.clamp_min(1.0)), in_examples(counted, target)};
}

/// Of each example, [rows, B].
at::Tensor losses_of_rows(const at::Tensor& answers, const at::Tensor& targets, TargetKind kind) {
    if (kind == TargetKind::Numbers) return answers.sub(targets).square().mean(2);
    const at::Tensor each = at::log_softmax(answers, -1).gather(-1, targets.unsqueeze(-1)).squeeze(-1).neg();
    return kind == TargetKind::Class ? each : each.mean(2);
}

}  // namespace

MeanLoss mean_loss(const at::Tensor& answers, const at::Tensor& targets, TargetShape target) {
    if (target.ignores && target.kind == TargetKind::Class) return mean_of_counted(answers, targets, target);
    if (target.ignores) return mean_of_counted(answers.flatten(0, 1), targets.flatten(), target);
    switch (target.kind) {
        case TargetKind::Class:
            return {mean_cross_entropy(answers, targets), {}};
        case TargetKind::ClassEach:  // all examples have as many positions: the mean of means is the mean of all
            return {mean_cross_entropy(answers.flatten(0, 1), targets.flatten()), {}};
        case TargetKind::Numbers:
            return {at::mse_loss(answers, targets), {}};
    }
    throw Fault("targets of no kind");
}

MeanLoss mean_losses_of_rows(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& weights,
                             TargetShape target) {
    if (!target.ignores) return {losses_of_rows(answers, targets, target.kind).mul(weights).sum(1), {}};
    at::Tensor in_batch = weights.gt(0.0);
    if (target.kind == TargetKind::ClassEach) in_batch = in_batch.unsqueeze(2);
    const at::Tensor counts = targets.ne(kIgnored).logical_and(in_batch).flatten(1);
    const at::Tensor each = at::log_softmax(answers, -1).gather(-1, targets.clamp_min(0).unsqueeze(-1)).squeeze(-1).neg();
    const at::Tensor counted = counts.sum(1).to(at::kFloat);
    const at::Tensor sums = at::where(counts, each.flatten(1), at::zeros({}, each.options())).sum(1);
    return {sums.div(counted.clamp_min(1.0)), in_examples(counted, target)};
}

namespace {

/// weights[r] · loss(scores[r], classes[r]) of rows, with its gradient, by the formula that all engines share.
class LossesOfRows : public torch::autograd::Function<LossesOfRows> {
public:
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& scores, const at::Tensor& classes,
                              const at::Tensor& weights, const LossTerms& terms) {
        const at::Tensor gradient = scores.detach().to(at::kFloat).clone(at::MemoryFormat::Contiguous);
        const at::Tensor targets = classes.contiguous(), factors = weights.contiguous();
        at::Tensor losses = at::empty({scores.size(0)}, gradient.options());
        compute({.scores = gradient.data_ptr<float>(),
                 .classes = targets.const_data_ptr<std::int64_t>(),
                 .weights = factors.const_data_ptr<float>(),
                 .losses = losses.data_ptr<float>(),
                 .rows = static_cast<std::size_t>(scores.size(0)),
                 .num_classes = static_cast<std::uint32_t>(scores.size(1)),
                 .terms = terms},
                scores.is_cpu() ? aggregation::MemorySpace::Host : aggregation::MemorySpace::Cuda);
        context->save_for_backward({gradient});
        return losses;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list of_losses) {
        return {context->get_saved_variables().front().mul(of_losses.front().unsqueeze(1)), {}, {}, {}};
    }
};

}  // namespace

BatchLoss::BatchLoss(const LossPlan& plan, at::Device device) {
    if (plan.num_weights > 0)
        class_weights_ =
            at::from_blob(const_cast<float*>(plan.class_weights.data()), {plan.num_weights}, at::kFloat).clone().to(device);
    terms_ = plan.terms(class_weights_.defined() ? class_weights_.const_data_ptr<float>() : nullptr);
}

/// The mean loss of each group of rows: answers [groups, n, classes], targets [groups, n], counts [groups, n] bool.
MeanLoss BatchLoss::of_groups(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& counts,
                              TargetShape target) const {
    const at::Tensor factors = counts.to(at::kFloat), classes = targets.clamp_min(0);
    const at::Tensor shares = class_weights_.defined() && terms_.kind == LossKind::CrossEntropy
                                  ? class_weights_.index_select(0, classes.flatten()).view_as(factors).mul(factors)
                                  : factors;
    const at::Tensor sums = shares.sum(1, /*keepdim=*/true);
    const at::Tensor weights = at::where(sums.gt(0.0), factors.div(sums), at::zeros({}, factors.options()));
    const at::Tensor losses =
        LossesOfRows::apply(answers.flatten(0, 1), classes.flatten(), weights.flatten(), terms_).view_as(factors).sum(1);
    return {losses, target.ignores ? in_examples(factors.sum(1), target) : at::Tensor()};
}

MeanLoss BatchLoss::mean(const at::Tensor& answers, const at::Tensor& targets, TargetShape target) const {
    if (terms_.is_plain()) return mean_loss(answers, targets, target);
    const at::Tensor rows = targets.view({1, -1});
    const MeanLoss one = of_groups(answers.reshape({1, -1, answers.size(-1)}), rows, rows.ne(kIgnored), target);
    return {one.mean.squeeze(0), one.counted.defined() ? one.counted.squeeze(0) : at::Tensor()};
}

MeanLoss BatchLoss::mean_of_rows(const at::Tensor& answers, const at::Tensor& targets, const at::Tensor& weights,
                                 TargetShape target) const {
    if (terms_.is_plain()) return mean_losses_of_rows(answers, targets, weights, target);
    at::Tensor in_batch = weights.gt(0.0);
    if (target.kind == TargetKind::ClassEach) in_batch = in_batch.unsqueeze(2);
    const at::Tensor counts = targets.ne(kIgnored).logical_and(in_batch);
    return of_groups(answers.flatten(1, -2), targets.flatten(1), counts.flatten(1), target);
}

void add_evaluation(const at::Tensor& answers, const at::Tensor& targets, TargetShape target, EvaluationSums& sums) {
    const auto add = target.ignores ? add_counted : add_classes;
    if (target.kind == TargetKind::Class) return add(answers, targets, 1.0, sums);
    const auto width = static_cast<double>(targets.size(1));
    if (target.kind == TargetKind::ClassEach) return add(answers.flatten(0, 1), targets.flatten(), width, sums);
    const at::Tensor errors = answers.sub(targets).to(at::kDouble);
    sums.add_loss(errors.square().sum().item<double>() / width);
    const at::Tensor absolute = errors.abs().mean(1).to(at::kCPU).contiguous();
    for (std::int64_t r = 0; r < absolute.size(0); ++r) sums.add({.absolute = absolute.const_data_ptr<double>()[r]});
}

}  // namespace fedhive::clients
