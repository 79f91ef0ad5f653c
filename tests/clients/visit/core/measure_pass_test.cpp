// A pass that measures: the norm of a client's mean gradient is that of its formula, however it is cut into batches, and leaves losses as
// they are.
#include "clients/visit/measure_pass.h"

#include "clients/tasks/measures.h"
#include "tests/support/plain_engine/steps.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// Counts the models that it is told of.
struct CountingEvaluation final : Evaluation {
    explicit CountingEvaluation(Evaluation& its_inner) : inner(its_inner) {}
    void begin(aggregation::ConstParamSpan model) override {
        ++models;
        inner.begin(model);
    }
    void evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) override {
        inner.evaluate(from, indices, sums);
    }

    Evaluation& inner;
    int models = 0;
};

/// Softmax regression of tests/golden/measures.py.
struct Golden {
    Golden() {
        const auto bytes = all["pixels"].get<std::vector<int>>();
        for (const int byte : bytes) pixels.push_back(static_cast<std::uint8_t>(byte));
        labels = all["labels"].get<std::vector<std::int32_t>>();
        const auto weight = all["weight"].get<std::vector<float>>(), bias = all["bias"].get<std::vector<float>>();
        model.resize(network.layout().num_floats());
        for (const aggregation::LayoutEntry& entry : network.layout().entries())
            std::ranges::copy(entry.shape.size() == 2 ? weight : bias,
                              model.begin() + static_cast<std::ptrdiff_t>(entry.offset));
        shard.resize(labels.size());
        std::iota(shard.begin(), shard.end(), 0U);
    }

    /// What a pass with batches of that size measures of the first `count` examples, once it has measured the first three.
    ReportValues measured(std::uint64_t batch_size, const std::vector<const char*>& names, std::size_t count) {
        testing::PlainExamples examples{{shape, pixels, labels}, BatchGather(shape, {})};
        testing::PlainStep step(network, examples, aggregation::SgdOptions{0.1F});
        testing::PlainEvaluation plain(network, examples.gather);
        CountingEvaluation evaluation(plain);
        Reports reports;
        for (const char* name : names) reports.add(name);
        LocalTraining training{.seed = 1, .local_epochs = 1, .batch_size = batch_size};
        MeasurePass pass(evaluation, step, {examples.view, SumsPlan::of("classification", classes), 4, training}, reports);
        pass.begin(model);
        ReportValues values{};
        pass.measure({0, 0, std::span(shard).first(3)}, values);
        values = {};
        pass.measure({0, 0, std::span(shard).first(count)}, values);
        models = evaluation.models;
        return values;
    }

    nlohmann::json all = nlohmann::json::parse(std::ifstream(FEDHIVE_SOURCE_DIR "/tests/golden/measures.json"))["gradient"];
    ExampleShape shape{all["features"].get<std::int64_t>(), 1, 1};
    std::int64_t classes = all["classes"].get<std::int64_t>();
    testing::Network network{named_model("lr", shape, classes)};
    std::vector<std::uint8_t> pixels;
    std::vector<std::int32_t> labels;
    std::vector<float> model;
    std::vector<std::uint32_t> shard;
    int models = 0;  // that the evaluation of the last pass was told of
};

}  // namespace

TEST_SUITE("MeasurePass") {
    TEST_CASE("GradientNormIsThatOfTheFormula") {
        Golden golden;
        const double expected = golden.all["norm"].get<double>();
        for (const std::uint64_t batch_size : {1U, 4U, 100U}) {
            CAPTURE(batch_size);
            CHECK(golden.measured(batch_size, {"sent_gradient_norm"}, golden.shard.size())[0] ==
                  doctest::Approx(expected).epsilon(1e-6));
        }
        CHECK(golden.measured(4, {"sent_gradient_norm"}, 6)[0] != doctest::Approx(expected).epsilon(1e-3));
    }

    TEST_CASE("OutputsAreMeasuredAsWithoutAGradient") {
        Golden golden;
        const std::size_t count = golden.shard.size();
        const ReportValues alone = golden.measured(4, {"sent_accuracy", "sent_loss"}, count);
        CHECK(golden.models == 1);
        const ReportValues together = golden.measured(4, {"sent_accuracy", "sent_gradient_norm", "sent_loss"}, count);
        CHECK(golden.models == 2);  // a gradient was taken in between
        CHECK(together[0] == alone[0]);
        CHECK(together[2] == alone[1]);
        CHECK(together[1] == golden.measured(4, {"sent_gradient_norm"}, count)[0]);
        CHECK(alone[1] > 0.0);
    }
}
