// Losses and sums of evaluations, against values computed by hand.
#include "clients/engine/losses.h"

#include "clients/engine/libtorch_step.h"
#include "clients/engine/vmap_step.h"
#include "clients/models/flat_model.h"
#include "clients/tasks/learning_task.h"
#include "tests/support/evaluated.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using aggregation::SgdOptions;

namespace {

EvaluationSums sums_of(const at::Tensor& answers, const at::Tensor& targets, TargetShape target) {
    EvaluationSums sums = testing::empty_sums(target.kind);
    add_evaluation(answers, targets, target, sums);
    return sums;
}

testing::Evaluated evaluation_of(const at::Tensor& answers, const at::Tensor& targets, TargetShape target) {
    return testing::by_name(sums_of(answers, targets, target), target.kind);
}

/// Two examples of two features, with these numbers for targets.
Examples two_examples(const std::vector<float>& numbers) {
    const std::array<float, 4> features{1, 1, 2, 0};
    Examples part{.shape = {2, 1, 1}, .values = {}, .labels = {}, .type = ValueType::F32};
    part.values.resize(sizeof features);
    std::memcpy(part.values.data(), features.data(), sizeof features);
    part.numbers = numbers;
    part.target = {TargetKind::Numbers, static_cast<std::uint32_t>(numbers.size() / 2)};
    return part;
}

ExamplesView view_of(const Examples& part) {
    return {part.shape, part.values, part.labels, MemorySpace::Host, part.type, part.target, part.numbers};
}

ModelSpec linear(std::uint32_t numbers) {
    return named_model("linear_regression", {2, 1, 1}, 0, {}, {TargetKind::Numbers, numbers});
}

/// Index of a tensor's value in the flat model.
std::size_t place(const FlatModel& model, std::size_t tensor, std::size_t value) {
    return model.layout().entries()[tensor].offset + value;
}

/// w = (1, 2), b = 0.5: outputs 3.5 and 2.5.
std::vector<float> first_model(const FlatModel& model) {
    std::vector<float> global(model.layout().num_floats(), 0.0F);
    global[place(model, 0, 0)] = 1.0F;
    global[place(model, 0, 1)] = 2.0F;
    global[place(model, 1, 0)] = 0.5F;
    return global;
}

/// PyTorch's own loss: cross_entropy with ignore_index.
at::Tensor reference_loss(const at::Tensor& scores, const at::Tensor& classes) {
    return at::cross_entropy_loss(scores.flatten(0, -2), classes.flatten(), {}, at::Reduction::Mean, -100);
}

at::Tensor gradient_of(const at::Tensor& loss, const at::Tensor& leaf) {
    leaf.mutable_grad() = at::Tensor();
    loss.backward();
    return leaf.grad().clone();
}

}  // namespace

TEST_SUITE("Losses") {
    TEST_CASE("SquaredErrorsStepIsThatOfItsGradient") {
        const Examples part = two_examples({3, 4});  // errors 0.5 and -1.5
        FlatModel model(linear(1), MemorySpace::Host);
        LibtorchStep step(model, view_of(part), {}, SgdOptions{.lr = 0.5F});
        const std::vector<float> global = first_model(model);
        ClientStart start;
        start.global = global;
        step.begin(start);
        const std::array<std::uint32_t, 2> both{0, 1};
        step.step(both);
        CHECK(step.loss_sum() == 0.25 + 2.25);
        // d/dw = 2/2 sum of error x: (0.5 - 3, 0.5); d/db = 0.5 - 1.5.
        const float* found = step.parameters().data;
        CHECK(found[place(model, 0, 0)] == 1.0F + 0.5F * 2.5F);
        CHECK(found[place(model, 0, 1)] == 2.0F - 0.5F * 0.5F);
        CHECK(found[place(model, 1, 0)] == 0.5F + 0.5F * 1.0F);
    }

    TEST_CASE("SquaredErrorIsAMeanOverNumbers") {
        const Examples part = two_examples({3, 0, 4, 2});
        FlatModel model(linear(2), MemorySpace::Host);
        std::vector<float> global(model.layout().num_floats(), 0.0F);
        LibtorchStep step(model, view_of(part), {}, SgdOptions{.lr = 1.0F});
        ClientStart start;
        start.global = global;
        step.begin(start);
        const std::array<std::uint32_t, 2> both{0, 1};
        step.step(both);
        CHECK(step.loss_sum() == (9 + 0 + 16 + 4) / 2.0);  // means over two numbers, summed over two examples
        const float* found = step.parameters().data;       // biases change by 1/4 of twice the targets' sums
        CHECK(found[place(model, 1, 0)] == 3.5F);
        CHECK(found[place(model, 1, 1)] == 1.0F);
    }

    TEST_CASE("EvaluationSumsSquaredAndAbsoluteErrors") {
        const Examples part = two_examples({3, 4});
        FlatModel model(linear(1), MemorySpace::Host);
        LibtorchEvaluation evaluation(model, part.shape, {});
        const std::vector<float> global = first_model(model);
        EvaluationSums found = testing::empty_sums(TargetKind::Numbers);
        evaluation.evaluate_range(global, view_of(part), 0, 2, found);
        CHECK(found.loss() == 2.5);
        CHECK(found.one("absolute") == 2.0);
        const std::vector<Metric>& metrics = learning_task("regression").metrics;
        CHECK(metrics[0].of(found, 2.0, 1.0) == 1.25);
        CHECK(metrics[1].of(found, 2.0, 1.0) == 1.0);
    }

    TEST_CASE("OfTwoNumbersBothErrorsAreMeans") {
        const testing::Evaluated found =
            evaluation_of(at::tensor({1.0F, 4.0F}).view({1, 2}), at::tensor({0.0F, 1.0F}).view({1, 2}), {TargetKind::Numbers});
        CHECK(found.loss_sum == 5.0);
        CHECK(found.absolute_sum == 2.0);
    }

    TEST_CASE("PositionsLossIsTheMeanOfTheirs") {
        // Probabilities of three classes at two positions of two examples; the targets' are 1/2, 1/4, 1/4 and 1/4.
        const at::Tensor answers = at::tensor({0.5F, 0.25F, 0.25F, 0.5F, 0.25F, 0.25F,  //
                                               0.25F, 0.5F, 0.25F, 0.25F, 0.25F, 0.5F})
                                       .log()
                                       .view({2, 2, 3})
                                       .set_requires_grad(true);
        const at::Tensor classes = at::tensor({0, 2, 2, 1}, at::kLong).view({2, 2});
        CHECK(mean_loss(answers, classes, {TargetKind::ClassEach, 2}).mean.item<double>() ==
              doctest::Approx(1.75 * std::log(2.0)));
        const at::NoGradGuard no_grad;
        const EvaluationSums found = sums_of(answers, classes, {TargetKind::ClassEach});
        CHECK(found.loss() == doctest::Approx(2 * 1.75 * std::log(2.0)));
        CHECK(found.one("correct") == 1.0);  // of four
        const std::vector<Metric>& metrics = learning_task("next_token").metrics;
        CHECK(metrics[0].of(found, 2.0, 2.0) == 0.25);
        CHECK(metrics[1].of(found, 2.0, 2.0) == doctest::Approx(std::pow(2.0, 1.75)));
    }

    TEST_CASE("AmongTheFiveAreWhomTheDirectEngineCountsEqualScoresAndLostOnesToo") {
        // Scores from 0 to 3, many of them equal; each of seven classes is the label in turn.
        at::Tensor scores = at::arange(30 * 7, at::kFloat).square().remainder(11).remainder(4).view({30, 7}).contiguous();
        scores[28][6] = NAN;
        scores[29][1] = NAN;  // the label's own score
        std::uint64_t expected = 0;
        const at::Tensor classes = at::arange(30, at::kLong).remainder(7);
        for (std::int64_t row = 0; row < 30; ++row)
            expected += classes_ahead(scores.data_ptr<float>() + 7 * row, 7, static_cast<std::uint32_t>(row % 7)) < 5 ? 1 : 0;
        const EvaluationSums found = sums_of(scores, classes, {TargetKind::Class});
        CHECK(found.one("among_five") == static_cast<double>(expected));
        CHECK(expected > 15);
        CHECK(expected < 29);
        CHECK(evaluation_of(scores.view({3, 10, 7}), classes.view({3, 10}), {TargetKind::ClassEach}).among_five == expected);
        const Metric& metric = *learning_task("classification").metric("top5_accuracy");
        CHECK(metric.of(found, 30.0, 1.0) == static_cast<double>(expected) / 30.0);
    }

    TEST_CASE("RowsLossesAreThoseOfEachAlone") {
        const at::Tensor numbers = at::arange(12, at::kFloat).view({2, 3, 2}), wanted = at::ones({2, 3, 2});
        const at::Tensor scores = at::arange(48, at::kFloat).square().remainder(7).view({2, 3, 2, 4});
        const at::Tensor classes = at::arange(12, at::kLong).remainder(4).view({2, 3, 2});
        const at::Tensor weights = at::full({2, 3}, 1.0F / 3.0F);
        const TargetShape pairs{TargetKind::Numbers, 2}, each{TargetKind::ClassEach, 2};
        for (std::int64_t row = 0; row < 2; ++row) {
            CHECK(mean_losses_of_rows(numbers, wanted, weights, pairs).mean[row].item<double>() ==
                  doctest::Approx(mean_loss(numbers[row], wanted[row], pairs).mean.item<double>()));
            CHECK(mean_losses_of_rows(scores, classes, weights, each).mean[row].item<double>() ==
                  doctest::Approx(mean_loss(scores[row], classes[row], each).mean.item<double>()));
        }
    }

    TEST_CASE("IgnoredTargetsAreThoseOfCrossEntropysIgnoreIndex") {
        const at::Tensor scores =
            at::arange(3 * 2 * 5, at::kFloat).square().remainder(7).view({3, 2, 5}).set_requires_grad(true);
        at::Tensor classes = at::arange(6, at::kLong).remainder(5).view({3, 2}).clone();
        classes[0][1] = kIgnored;
        classes[2] = kIgnored;
        const TargetShape each{TargetKind::ClassEach, 2, true}, one{TargetKind::Class, 1, true};
        const MeanLoss found = mean_loss(scores, classes, each);
        const at::Tensor wanted = reference_loss(scores, classes);
        CHECK(at::equal(found.mean, wanted));
        CHECK(found.counted.item<float>() == 1.5F);  // three of two per example
        CHECK(at::equal(gradient_of(found.mean, scores), gradient_of(wanted, scores)));
        const MeanLoss of_first = mean_loss(scores.select(1, 0), classes.select(1, 0), one);
        CHECK(at::equal(of_first.mean, reference_loss(scores.select(1, 0), classes.select(1, 0))));
        CHECK(of_first.counted.item<float>() == 2.0F);

        const MeanLoss none = mean_loss(scores.narrow(0, 2, 1), classes.narrow(0, 2, 1), each);
        CHECK(none.mean.item<float>() == 0.0F);
        CHECK(none.counted.item<float>() == 0.0F);
        CHECK(gradient_of(none.mean, scores).abs().max().item<float>() == 0.0F);
    }

    TEST_CASE("RowsIgnoreTargetsAsOneRowDoesAndWhatFillsThemUpIsNotCounted") {
        const at::Tensor scores =
            at::arange(2 * 3 * 2 * 4, at::kFloat).square().remainder(7).view({2, 3, 2, 4}).set_requires_grad(true);
        at::Tensor classes = at::arange(12, at::kLong).remainder(4).view({2, 3, 2}).clone(),
                   weights = at::full({2, 3}, 1.0F / 3.0F);
        classes[0][1][0] = kIgnored;
        classes[1][0] = kIgnored;  // the last target of this row is padding
        weights[1][0] = weights[1][1] = 0.5F;
        weights[1][2] = 0.0F;
        const TargetShape each{TargetKind::ClassEach, 2, true};
        const MeanLoss found = mean_losses_of_rows(scores, classes, weights, each);
        const at::Tensor first = mean_loss(scores[0], classes[0], each).mean;
        const at::Tensor second = mean_loss(scores[1].narrow(0, 0, 2), classes[1].narrow(0, 0, 2), each).mean;
        CHECK(found.mean[0].item<double>() == doctest::Approx(first.item<double>()));
        CHECK(found.mean[1].item<double>() == doctest::Approx(second.item<double>()));
        CHECK(found.counted[0].item<float>() == 2.5F);
        CHECK(found.counted[1].item<float>() == 1.0F);
        CHECK(at::allclose(gradient_of(found.mean.sum(), scores), gradient_of(first.add(second), scores)));
        classes[1] = kIgnored;
        const MeanLoss none = mean_losses_of_rows(scores, classes, weights, each);
        CHECK(none.mean[1].item<float>() == 0.0F);
        CHECK(none.counted[1].item<float>() == 0.0F);
        CHECK(gradient_of(none.mean.sum(), scores)[1].abs().max().item<float>() == 0.0F);
    }

    TEST_CASE("MetricsAreOverCountedTargets") {
        const at::NoGradGuard no_grad;
        const at::Tensor scores = at::arange(4 * 7, at::kFloat).square().remainder(11).view({4, 7});
        at::Tensor classes = scores.argmax(1);
        classes[1] = kIgnored;
        classes[3] = (classes[3].item<std::int64_t>() + 1) % 7;
        const testing::Evaluated found = evaluation_of(scores, classes, {TargetKind::Class, 1, true});
        CHECK(found.ignored == 1);
        CHECK(found.correct == 2);
        CHECK(found.loss_sum / 3.0 == doctest::Approx(reference_loss(scores, classes).item<double>()));
        const testing::Evaluated each =
            evaluation_of(scores.view({2, 2, 7}), classes.view({2, 2}), {TargetKind::ClassEach, 2, true});
        CHECK(each.loss_sum == doctest::Approx(found.loss_sum / 2.0));
        CHECK(each.ignored == 1);
        const testing::Evaluated none = evaluation_of(scores, at::full({4}, kIgnored, at::kLong), {TargetKind::Class, 1, true});
        CHECK(none.ignored == 4);
        CHECK(none.loss_sum == 0.0);
    }

    TEST_CASE("LossesOfTheCatalogAreThoseOfPyTorch") {
        const at::Tensor scores = at::randn({6, 5}).mul(3.0).set_requires_grad(true);
        const at::Tensor classes = at::tensor({0, 4, 2, 2, 1, 3}, at::kLong);
        const at::Tensor weights = at::tensor({1.0F, 0.5F, 2.0F, 0.25F, 3.0F});
        LossPlan plan{.smoothing = 0.2F, .num_weights = 5};
        std::memcpy(plan.class_weights.data(), weights.const_data_ptr<float>(), 5 * sizeof(float));
        const at::Tensor expected = at::cross_entropy_loss(scores, classes, weights, at::Reduction::Mean, -100, 0.2);
        const MeanLoss found = BatchLoss(plan, at::kCPU).mean(scores, classes, {TargetKind::Class});
        CHECK(found.mean.item<float>() == doctest::Approx(expected.item<float>()).epsilon(1e-6));
        CHECK_FALSE(found.counted.defined());
        const at::Tensor wanted = gradient_of(expected, scores), got = gradient_of(found.mean, scores);
        CHECK(at::allclose(got, wanted, 1e-5, 1e-7));

        const LossPlan focal{.kind = LossKind::Focal, .gamma = 2.0F};
        const at::Tensor log_p = at::log_softmax(scores, 1).gather(1, classes.unsqueeze(1));
        const at::Tensor by_hand = log_p.exp().neg().add(1.0).square().mul(log_p).neg().mean();
        const MeanLoss focused = BatchLoss(focal, at::kCPU).mean(scores, classes, {TargetKind::Class});
        CHECK(focused.mean.item<float>() == doctest::Approx(by_hand.item<float>()).epsilon(1e-6));
        CHECK(at::allclose(gradient_of(focused.mean, scores), gradient_of(by_hand, scores), 1e-5, 1e-7));
    }

    TEST_CASE("LossOfPositionsAndIgnoredTargetsIsTheMeanOfThoseThatCount") {
        const LossPlan plan{.smoothing = 0.1F};
        const BatchLoss loss(plan, at::kCPU);
        const at::Tensor scores = at::randn({3, 4, 5}).set_requires_grad(true);
        at::Tensor classes = at::arange(12, at::kLong).remainder(5).view({3, 4});
        classes.index_put_({at::tensor({0, 1, 1}, at::kLong), at::tensor({0, 2, 3}, at::kLong)},
                           at::scalar_tensor(kIgnored, at::kLong));
        const at::Tensor expected =
            at::cross_entropy_loss(scores.flatten(0, 1), classes.flatten(), {}, at::Reduction::Mean, kIgnored, 0.1);
        const MeanLoss found = loss.mean(scores, classes, {TargetKind::ClassEach, 4, true});
        CHECK(found.mean.item<float>() == doctest::Approx(expected.item<float>()).epsilon(1e-6));
        CHECK(found.counted.item<float>() == doctest::Approx(9.0 / 4.0));
        CHECK(at::allclose(gradient_of(found.mean, scores), gradient_of(expected, scores), 1e-5, 1e-7));
        const at::Tensor nobody = at::full({3, 4}, kIgnored, at::kLong);
        const MeanLoss none = loss.mean(scores, nobody, {TargetKind::ClassEach, 4, true});
        CHECK(none.mean.item<float>() == 0.0F);
        CHECK(gradient_of(none.mean, scores).abs().max().item<float>() == 0.0F);
    }

    TEST_CASE("LossOfManyRowsIsThatOfEachRow") {
        LossPlan plan{.smoothing = 0.1F, .num_weights = 4};
        plan.class_weights = {1.0F, 2.0F, 0.5F, 4.0F};
        const BatchLoss loss(plan, at::kCPU);
        const at::Tensor scores = at::randn({2, 3, 4}).set_requires_grad(true);
        const at::Tensor classes = at::tensor({0, 1, 3, 2, 2, 0}, at::kLong).view({2, 3});
        const at::Tensor weights = at::tensor({1.0F / 3, 1.0F / 3, 1.0F / 3, 0.5F, 0.5F, 0.0F}).view({2, 3});
        const MeanLoss rows = loss.mean_of_rows(scores, classes, weights, {TargetKind::Class});
        const at::Tensor together = gradient_of(rows.mean.sum(), scores);
        const std::array<std::int64_t, 2> sizes{3, 2};
        for (std::int64_t row = 0; row < 2; ++row) {
            const std::int64_t size = sizes.at(static_cast<std::size_t>(row));
            const at::Tensor own = scores.detach()[row].narrow(0, 0, size).clone().set_requires_grad(true);
            const MeanLoss alone = loss.mean(own, classes[row].narrow(0, 0, size), {TargetKind::Class});
            CHECK(rows.mean[row].item<float>() == doctest::Approx(alone.mean.item<float>()).epsilon(1e-6));
            CHECK(at::allclose(together[row].narrow(0, 0, size), gradient_of(alone.mean, own), 1e-6, 1e-8));
        }
        CHECK(together[1][2].abs().max().item<float>() == 0.0F);
    }
}
