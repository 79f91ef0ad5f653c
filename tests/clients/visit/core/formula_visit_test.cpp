// A visit's formulas in an engine of two parameters whose gradient is known: w - (mean of the batch's indices).
#include "clients/visit/formula_visit.h"
#include "clients/visit/local_training.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::ConstParamSpan;
using aggregation::MemorySpace;
using aggregation::ParamBuffer;
using aggregation::ParamSpan;

namespace {

constexpr float kRate = 0.25F;

/// F(w) = |w - mean of the batch's indices|^2 / 2, by plain SGD. Behind the parameters is a buffer that each pass moves by 1.
class ParabolaStep final : public OneRowStep<> {
public:
    explicit ParabolaStep(const aggregation::Layout& layout)
        : model_(layout.num_floats(), MemorySpace::Host), gradient_(layout.num_trainable(), MemorySpace::Host) {}
    ParamSpan parameters_of(std::size_t) override { return model_; }
    ParamSpan gradient() override { return gradient_; }
    ParamSpan optimizer_state() override { return {}; }
    void begin(const ClientStart& start) override {
        aggregation::copy(model_, start.global);
        loss_ = 0.0;
    }
    void compute_gradients(std::span<const RowBatch> batches) override {
        const RowBatch& batch = only_batch(batches);
        const float mean = mean_of(batch.examples);
        const ParamSpan model = model_, gradient = gradient_;
        for (std::size_t i = 0; i < gradient.size; ++i) gradient.data[i] = model.data[i] - mean;
        model.data[gradient.size] += 1.0F;
        if (batch.counts) loss_ += static_cast<double>(batch.examples.size());
        seen.emplace_back(batch.examples.begin(), batch.examples.end());
    }
    void apply_gradients() override {
        const ParamSpan model = model_, gradient = gradient_;
        for (std::size_t i = 0; i < gradient.size; ++i) model.data[i] -= kRate * gradient.data[i];
    }
    double loss_of(std::size_t) override { return loss_; }

    static float mean_of(std::span<const std::uint32_t> examples) {
        return static_cast<float>(std::accumulate(examples.begin(), examples.end(), 0U)) / static_cast<float>(examples.size());
    }

    std::vector<std::vector<std::uint32_t>> seen;  // examples of each pass

private:
    ParamBuffer model_, gradient_;
    double loss_ = 0.0;
};

constexpr std::size_t kParameters = 16;  // as many as a layout pads to
const std::vector<std::uint32_t> kShard{0, 1, 2, 3, 4, 5, 6, 7};
const LocalTraining kTwoPasses{.seed = 7, .local_epochs = 2, .batch_size = 3};

aggregation::Layout one_tensor() {
    aggregation::Layout layout;
    layout.add("w", {kParameters});
    layout.add("passes", {1}, aggregation::TensorKind::Buffer);
    return layout;
}

/// One client's visit by a method's text.
struct Visit {
    explicit Visit(const std::string& text, const LocalTraining& plan = kTwoPasses) : layout(one_tensor()), engine(layout) {
        aggregation::Memories memories;
        const auto method = aggregation::formulas::MethodFormulas::of(text);
        for (const auto& memory : method.memories)
            if (memory.is_declared()) memories.add(memory.spec(), {.trainable = kParameters, .parameters = kParameters});
        all = memories;
        MethodText given;
        given.set(text);
        visit.emplace(given, all, layout, LocalPart(), Reports(), MemorySpace::Host);
        visit->add_to(step);
        sent.assign(layout.num_floats(), 2.0F);
        record.assign(all.record_floats(), 0.5F);
        beside.assign(all.floats_beside(), -1.0F);
        slot.assign(layout.num_floats() + all.floats_behind(), -1.0F);
        views = {.all = &all,
                 .region = {},
                 .record = {record.data(), record.size(), MemorySpace::Host},
                 .slot = {slot.data(), slot.size(), MemorySpace::Host},
                 .beside = {beside.data(), beside.size(), MemorySpace::Host}};
        LocalTraining with_next = plan;
        with_next.takes_next = method.second_on_next;
        const ConstParamSpan model{sent.data(), sent.size(), MemorySpace::Host};
        const ConstParamSpan began = visit->begin(
            views, model, {.round = 1, .num_examples = kShard.size(), .steps = plan.steps_of(kShard.size()), .lr = kRate});
        ClientFigures figures;
        const RowClient client{3, kShard, &figures};
        ClientResult result;
        enqueue_clients(step, with_next, {}, 1, {&client, 1}, began, {&result, 1});
        loss = figures.loss_sum;
        ReportValues reports{};
        if (visit->has_end()) visit->end(views, step.parameters(), result, 0.0, reports);
        steps = result.steps;
    }

    float parameter() { return engine.parameters().data[5]; }
    float passes() { return engine.parameters().data[kParameters]; }
    float kept(const std::string& name) { return views.written(name).data[5]; }

    aggregation::Layout layout;
    ParabolaStep engine;
    LocalStep step{engine};
    aggregation::Memories all;
    std::optional<FormulaVisit> visit;
    std::vector<float> sent, record, beside, slot;
    aggregation::VisitMemories views;
    double loss = 0.0;
    std::uint64_t steps = 0;
};

/// The batches of the visit's steps, by a visit without formulas.
std::vector<float> batch_means(const LocalTraining& plan = kTwoPasses) {
    Visit plain("gradient g = g\n", plan);
    std::vector<float> means;
    for (const auto& batch : plain.engine.seen) means.push_back(ParabolaStep::mean_of(batch));
    return means;
}

}  // namespace

TEST_SUITE("FormulaVisit") {
    TEST_CASE("TheSecondGradientIsTakenAtItsPointOnTheSameBatch") {
        Visit visit("key rho 0.5\nsecond w_2 = w + rho * g\ngradient g = g_2 + 0.25 * g\n");
        float w = 2.0F;
        for (const float mean : batch_means()) {
            const float first = w - mean, second = (w + 0.5F * first) - mean;
            w -= kRate * (second + 0.25F * first);
        }
        CHECK(visit.parameter() == doctest::Approx(w).epsilon(1e-6));
        CHECK(visit.engine.seen.size() == 2 * visit.steps);
        for (std::size_t i = 0; i < visit.engine.seen.size(); i += 2) CHECK(visit.engine.seen[i] == visit.engine.seen[i + 1]);
    }

    TEST_CASE("TheSecondPassLeavesBuffersAndTheLossAlone") {
        Visit plain("gradient g = g\n"), visit("second w_2 = w + g\ngradient g = g + 0 * g_2\n");
        CHECK(visit.passes() == plain.passes());
        CHECK(visit.loss == plain.loss);
        CHECK(visit.parameter() == plain.parameter());
    }

    TEST_CASE("TheNextBatchIsThatOfTheNextStepAlsoInAnotherPass") {
        Visit visit("second_on_next\nsecond w_2 = w\ngradient g = g_2\n");
        LocalTraining longer = kTwoPasses;
        longer.local_epochs = 3;
        const std::vector<float> means = batch_means(longer);
        float w = 2.0F;
        for (std::size_t i = 0; i < visit.steps; ++i) w -= kRate * (w - means[i + 1]);
        CHECK(visit.parameter() == doctest::Approx(w).epsilon(1e-6));
    }

    TEST_CASE("AMemoryOfTheClientChangesInEachStepAndIsKept") {
        Visit visit(
            "memory v client 0 0 1 0x0p+0\nsecond w_2 = v\ngradient g = g\ngradient v = v - lr * (g_2 + 0.5 * (v - w_t))\n");
        float v = 0.5F, w = 2.0F;
        for (const float mean : batch_means()) {
            v -= kRate * ((v - mean) + 0.5F * (v - 2.0F));
            w -= kRate * (w - mean);
        }
        CHECK(visit.kept("v") == doctest::Approx(v).epsilon(1e-6));
        CHECK(visit.parameter() == doctest::Approx(w).epsilon(1e-6));
        CHECK(visit.record.front() == 0.5F);  // it changes when the update is accepted
    }

    TEST_CASE("EndReadsWhatStepsHaveMadeOfAMemoryOfTheVisit") {
        Visit visit(
            "memory c visit 0 0 1 0x0p+0\nmemory own client 0 0 0 0x0p+0\n"
            "gradient g = g\ngradient c = where(step == steps - 1, c + step, c + 0.5 * (w - w_0))\nend own = c - w_t\n");
        float c = 2.0F, w = 2.0F;
        const std::vector<float> means = batch_means();
        for (std::size_t i = 0; i < means.size(); ++i) {
            c += i + 1 == means.size() ? static_cast<float>(i) : 0.5F * (w - 2.0F);
            w -= kRate * (w - means[i]);
        }
        CHECK(visit.kept("own") == doctest::Approx(c - 2.0F).epsilon(1e-6));
    }

    TEST_CASE("AJudgeMakesAModelOfTheOneThatIsSentAndOfMemories") {
        const std::string text =
            "memory v client 0 0 1 0x0p+0\ngradient g = g\ngradient v = v - lr * g\njudge w = 0.25 * v + w_t\n";
        Visit visit(text);
        MethodText given;
        given.set(text);
        FormulaJudge judge(given, visit.all, visit.layout, LocalPart(), MemorySpace::Host);
        const ConstParamSpan sent{visit.sent.data(), visit.sent.size(), MemorySpace::Host};
        const auto own = [&](std::span<const float> record) {
            aggregation::VisitMemories views = visit.views;
            views.record = {record.data(), record.size(), MemorySpace::Host};
            return judge.model(views, sent, {.round = 2, .num_examples = 8, .steps = 6, .lr = kRate});
        };
        CHECK(own(visit.record).data[5] == 2.125F);
        CHECK(own(visit.record).data[kParameters] == 2.0F);  // a buffer
        CHECK(own({}).data[5] == 2.5F);                      // the client keeps nothing yet
    }
}
