// Targets of -100 in every engine: they have no effect on a batch, and a batch of only such targets leaves the model unchanged.
#include "clients/data/ignored.h"

#include "aggregation/base/random.h"
#include "clients/data/formats/synthetic.h"
#include "clients/engine/direct_step.h"
#include "clients/engine/libtorch_step.h"
#include "clients/engine/vmap_step.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "tests/support/evaluated.h"
#include "tests/support/plain_engine/steps.h"
#include "tests/support/small_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using aggregation::SgdOptions;

namespace {

/// 64 examples; ignored are the odd ones from 20 on, and all from 40 on.
Dataset drawn() {
    Dataset dataset = draw_synthetic({64, 32, 4, 12, 2.0}, 7);
    for (std::size_t i = 20; i < 64; ++i)
        if (i % 2 == 1 || i >= 40) dataset.train.labels[i] = kIgnored;
    dataset.test.labels[3] = dataset.test.labels[17] = kIgnored;
    mark_ignored(dataset);
    return dataset;
}

ExamplesView view_of_part(const Examples& part) {
    return {.shape = part.shape, .values = part.values, .labels = part.labels, .type = part.type, .target = part.target};
}

std::vector<std::uint32_t> from_to(std::uint32_t first, std::uint32_t end, std::uint32_t by = 1) {
    std::vector<std::uint32_t> indices;
    for (; first < end; first += by) indices.push_back(first);
    return indices;
}

struct IgnoredBench {
    explicit IgnoredBench(const ModelSpec& spec)
        : model(spec, MemorySpace::Host), direct(spec), plain(spec), global(model.layout().num_floats(), 0.0F) {
        Stream stream(4, Purpose::ModelInit);
        for (const auto& entry : model.layout().entries())
            for (float& value : std::span(global).subspan(entry.offset, entry.size))
                value = static_cast<float>(0.3 * stream.normal());
        const SgdOptions sgd{0.5F, 0.0F, 0.0F, false};
        steps["libtorch"] = std::make_unique<LibtorchStep>(model, train, Normalization{}, sgd);
        steps["direct"] = std::make_unique<DirectStep>(direct, train, Normalization{}, sgd);
        steps["rows"] = std::make_unique<VmapStep>(spec, 1, MemorySpace::Host, train, Normalization{}, sgd);
        steps["plain"] = std::make_unique<fedhive::testing::PlainStep>(plain, examples, sgd);
    }

    /// The model after one step; also the loss.
    std::vector<float> stepped(TrainingStep& step, const std::vector<std::uint32_t>& batch, double& loss) const {
        ClientStart start;
        start.global = global;
        step.begin(start);
        step.step(batch);
        loss = step.loss_sum();
        const auto after = step.parameters().host();
        return {after.begin(), after.end()};
    }

    Dataset dataset = drawn();
    ExamplesView train = view_of_part(dataset.train), test = view_of_part(dataset.test);
    fedhive::testing::PlainExamples examples{train, BatchGather(dataset.train.shape, {})};
    FlatModel model;
    direct::Network direct;
    fedhive::testing::Network plain;
    std::vector<float> global;
    std::map<std::string, std::unique_ptr<TrainingStep>> steps;
};

}  // namespace

TEST_SUITE("IgnoredTargets") {
    TEST_CASE("BatchWithIgnoredTargetsIsThatOfTheOthersInEveryEngine") {
        const IgnoredBench bench(fedhive::testing::small_model("mlp", {12, 1, 1}, 4));
        for (const auto& [name, step] : bench.steps) {
            CAPTURE(name);
            double loss = 0.0, wanted_loss = 0.0;
            const std::vector<float> found = bench.stepped(*step, from_to(18, 33), loss);
            std::vector<std::uint32_t> counted = from_to(18, 33);
            std::erase_if(counted, [](std::uint32_t i) { return i > 20 && i % 2 == 1; });
            REQUIRE(counted.size() == 9);
            const std::vector<float> wanted = bench.stepped(*step, counted, wanted_loss);
            CHECK(loss == doctest::Approx(wanted_loss).epsilon(1e-6));
            CHECK(wanted_loss > 1.0);
            double worst = 0.0, moved = 0.0;
            for (std::size_t i = 0; i < found.size(); ++i) {
                worst = std::max(worst, std::abs(static_cast<double>(found[i]) - wanted[i]));
                moved = std::max(moved, std::abs(static_cast<double>(found[i]) - bench.global[i]));
            }
            CHECK(worst < 1e-6);
            CHECK(moved > 0.01);
        }
    }

    TEST_CASE("BatchOfNothingElseHasLossAndGradientZero") {
        const IgnoredBench bench(fedhive::testing::small_model("mlp", {12, 1, 1}, 4));
        for (const auto& [name, step] : bench.steps) {
            CAPTURE(name);
            double loss = 1.0;
            CHECK(bench.stepped(*step, from_to(41, 57), loss) == bench.global);
            CHECK(loss == 0.0);
        }
    }

    TEST_CASE("ClientsLossIsTheMeanOverItsCountedTargetsAndZeroWithoutAny") {
        const IgnoredBench bench(fedhive::testing::small_model("mlp", {12, 1, 1}, 4));
        LocalTraining plan{.batch_size = 8};
        plan.counted = CountedTargets::of(bench.train);
        for (const auto& [name, step] : bench.steps) {
            CAPTURE(name);
            std::vector<float> update(bench.global.size());
            const std::vector<std::uint32_t> some = from_to(30, 50), none = from_to(44, 60), counted = from_to(30, 40, 2);
            const double with = train_client(*step, plan, {}, 0, 0, some, bench.global, update).train_loss;
            CHECK(with == step->loss_sum() / 5.0);  // of twenty examples, five are counted
            CHECK(with > 0.0);
            const ClientResult without = train_client(*step, plan, {}, 0, 0, none, bench.global, update);
            CHECK(without.train_loss == 0.0);
            CHECK(without.steps == 2);
            CHECK(without.update_norm == 0.0);
            CHECK(without.finite == 1);
            if (name == "rows") continue;
            std::vector<float> mean(bench.global.size()), of_counted(bench.global.size());
            mean_gradient(*step, plan, {}, 0, 0, some, bench.global, mean);
            mean_gradient(*step, {.batch_size = 8}, {}, 0, 0, counted, bench.global, of_counted);
            for (std::size_t i = 0; i < mean.size(); ++i) REQUIRE(std::abs(mean[i] - of_counted[i]) < 1e-6);
        }
    }

    TEST_CASE("EvaluationsLeaveIgnoredTargetsOut") {
        IgnoredBench bench(fedhive::testing::small_model("mlp", {12, 1, 1}, 4));
        const BatchGather gather(bench.test.shape, {});
        LibtorchEvaluation libtorch(bench.model, bench.test.shape, {});
        DirectEvaluation direct(bench.direct, bench.test.shape, {});
        fedhive::testing::PlainEvaluation plain(bench.plain, gather);
        std::vector<std::uint32_t> counted = from_to(0, 32);
        std::erase_if(counted, [](std::uint32_t i) { return i == 3 || i == 17; });
        for (Evaluation* evaluation : std::initializer_list<Evaluation*>{&libtorch, &direct, &plain}) {
            const testing::Evaluated all = testing::evaluated_range(*evaluation, bench.global, bench.test, 0, 32);
            const testing::Evaluated others = testing::evaluated(*evaluation, bench.test, counted);
            CHECK(all.ignored == 2);
            CHECK(others.ignored == 0);
            CHECK(all.loss_sum == doctest::Approx(others.loss_sum).epsilon(1e-6));
            CHECK(all.correct == others.correct);
            CHECK(all.among_five == others.among_five);
            CHECK(all.among_five == 30);  // there are only four classes
        }
    }
}
