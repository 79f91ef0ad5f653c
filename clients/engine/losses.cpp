#include "clients/engine/losses.h"

#include "aggregation/base/error.h"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace fedhive::clients {

namespace {

/// What cross_entropy_loss comes to, without the operators around it, which a small model's step feels.
at::Tensor mean_cross_entropy(const at::Tensor& scores, const at::Tensor& classes) {
    return std::get<0>(at::nll_loss_forward(at::_log_softmax(scores, 1, false), classes, {}, at::Reduction::Mean, kIgnored));
}

/// How many classes have fewer than five others ahead of them, as clients/direct/among_five.h has it.
std::uint64_t among_five(const at::Tensor& scores, const at::Tensor& classes) {
    const at::Tensor label = classes.unsqueeze(1), own = scores.gather(1, label);
    const at::Tensor before = at::arange(scores.size(1), classes.options()).unsqueeze(0).lt(label);
    const at::Tensor behind = at::where(before, scores.lt(own), scores.le(own));  // the class itself is behind
    return static_cast<std::uint64_t>(
        behind.logical_not().sum(1).lt(5).logical_and(own.squeeze(1).isnan().logical_not()).sum().item<std::int64_t>());
}

/// scores: [B, classes]; classes: [B]; each example of them, or each position, counts by itself.
EvaluationResult judge_classes(const at::Tensor& scores, const at::Tensor& classes) {
    EvaluationResult result;
    result.loss_sum = at::cross_entropy_loss(scores, classes, {}, at::Reduction::None).to(at::kDouble).sum().item<double>();
    result.correct = static_cast<std::uint64_t>(scores.argmax(1).eq(classes).sum().item<std::int64_t>());
    result.among_five = among_five(scores, classes);
    return result;
}

/// The same of the counted targets alone.
EvaluationResult judge_counted(const at::Tensor& scores, const at::Tensor& classes) {
    const at::Tensor places = classes.ne(kIgnored).nonzero().squeeze(1);
    EvaluationResult result;
    if (places.size(0) > 0) result = judge_classes(scores.index_select(0, places), classes.index_select(0, places));
    result.ignored = static_cast<std::uint64_t>(classes.size(0) - places.size(0));
    return result;
}

/// How many counted targets there are along the last dimensions, as examples.
at::Tensor in_examples(const at::Tensor& counted, TargetShape target) {
    return target.width == 1 ? counted : counted.div(static_cast<double>(target.width));
}

/// scores: [n, classes]; classes: [n]. A sum over nobody is 0, and so is what goes back.
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

EvaluationResult evaluation_of(const at::Tensor& answers, const at::Tensor& targets, TargetShape target) {
    const auto judge = target.ignores ? judge_counted : judge_classes;
    if (target.kind == TargetKind::Class) return judge(answers, targets);
    const auto width = static_cast<double>(targets.size(1));
    EvaluationResult result;
    if (target.kind == TargetKind::ClassEach) {
        result = judge(answers.flatten(0, 1), targets.flatten());
        result.loss_sum /= width;
        return result;
    }
    const at::Tensor errors = answers.sub(targets).to(at::kDouble);
    result.loss_sum = errors.square().sum().item<double>() / width;
    result.absolute_sum = errors.abs().sum().item<double>() / width;
    return result;
}

}  // namespace fedhive::clients
