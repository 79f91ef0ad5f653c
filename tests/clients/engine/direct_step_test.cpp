// The direct engine against LibTorch: equal gradients, losses, steps and evaluations up to rounding, on named
// models and lists of layers.
#include "clients/engine/direct_step.h"

#include "aggregation/base/random.h"
#include "clients/engine/libtorch_step.h"
#include "clients/models/flat_model.h"
#include "clients/models/model_plan.h"
#include "clients/trainers/engine.h"
#include "tests/support/evaluated.h"
#include "tests/support/small_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// A random list: convolutions of all widths, strides and paddings with other layers between them.
LayerList random_layers(Stream& stream, Stream& norms) {
    LayerList layers;
    const auto one_of = [&](std::initializer_list<float> values) { return *(values.begin() + stream.below(values.size())); };
    for (std::uint64_t i = 0, n = 1 + stream.below(2); i < n; ++i) {
        const float kernel = one_of({1, 2, 3, 5});
        layers.add("conv2d",
                   {one_of({3, 8, 16, 20, 33}), kernel, one_of({1, 1, 2, 3}), std::floor((kernel - 1) * one_of({0, 0.5, 1}))});
        if (stream.below(3) == 0) {
            const float out = one_of({6, 18, 32});
            layers.add("residual").add("conv2d", {out, 3, 1, 1, 1, one_of({0, 1})}).add("group_norm", {one_of({1, 2})});
            layers.add("relu").shortcut().add("conv2d", {out, 1, 1, 0, 1, 0}).add("group_norm", {2}).end();
        }
        if (stream.below(3) == 0) layers.add("residual").add("tanh").end();
        if (norms.below(2) == 0) layers.add("batch_norm");
        if (stream.below(2) == 0) layers.add("relu");
        switch (stream.below(4)) {
            case 0:
                layers.add("max_pool", {2});
                break;
            case 1:
                layers.add("avg_pool", {2});
                break;
            case 2:
                layers.add("max_pool", {3});
                break;
            default:
                layers.add("group_norm", {1});
        }
    }
    layers.add("flatten");
    if (stream.below(2) == 0) layers.add("linear", {one_of({7, 16, 50})}).add("relu");
    if (stream.below(2) == 0) layers.add("layer_norm");
    if (norms.below(2) == 0) layers.add("batch_norm");
    return layers.add("linear");
}

std::vector<ModelSpec> models() {
    std::vector<ModelSpec> specs;
    for (const char* name : {"lr", "mlp", "mnist_cnn", "cnn_m"}) specs.push_back(testing::small_model(name, {1, 28, 28}, 10));
    specs.push_back(named_model("resnet20", {3, 9, 10}, 10));
    specs.push_back(named_model("resnet20", {3, 9, 10}, 10, {{"norm", std::string("batch")}}));
    specs.push_back(named_model("linear_regression", {12, 1, 1}, 0, {}, {TargetKind::Numbers, 1}));
    Stream stream(20, Purpose::ModelInit), norms(21, Purpose::ModelInit);
    for (int i = 0; i < 12; ++i)
        specs.push_back(testing::listed_model(random_layers(stream, norms),
                                              i % 2 == 0 ? ExampleShape{1, 28, 28} : ExampleShape{3, 17, 20}));
    LayerList tiled;  // each padding, on odd and even sizes
    tiled.add("conv2d", {16, 3, 1, 0}).add("tanh").add("conv2d", {32, 3, 1, 0}).add("relu").add("conv2d", {48, 3, 1, 2});
    tiled.add("group_norm", {3})
        .add("relu")
        .add("conv2d", {16, 3, 1, 1, 1, 0})
        .add("avg_pool", {2})
        .add("flatten")
        .add("linear");
    specs.push_back(testing::listed_model(tiled, {3, 11, 14}, 10));
    LayerList tiled_pool;
    tiled_pool.add("conv2d", {16, 3, 1, 1}).add("tanh").add("conv2d", {32, 3, 1, 1}).add("relu").add("max_pool", {2});
    specs.push_back(testing::listed_model(tiled_pool.add("flatten").add("linear"), {3, 11, 14}, 10));
    LayerList wide;  // 128 × 128 × 9 weights, which the whole batch passes at once
    wide.add("conv2d", {16, 3, 1, 1}).add("relu").add("conv2d", {128, 3, 1, 1}).add("relu").add("conv2d", {128, 3, 1, 1});
    specs.push_back(testing::listed_model(wide.add("relu").add("flatten").add("linear"), {3, 6, 7}, 10));
    LayerList tokens;
    tokens.add("embedding", {8, 12}).add("dropout", {0}).add("flatten").add("linear", {16}).add("relu").add("linear");
    specs.push_back(testing::listed_model(tokens, {20, 1, 1, 11}));
    for (std::uint32_t numbers : {1U, 3U, 20U})
        specs.push_back(testing::listed_regression(random_layers(stream, norms), {3, 17, 20}, numbers));
    return specs;
}

/// Byte images without ties within a pool: with ties both engines are right and may differ.
struct Drawn {
    explicit Drawn(const ModelSpec& spec) : values(64 * spec.input.num_values()) {
        Stream stream(9, Purpose::TrainData);
        const auto values_of = static_cast<std::uint64_t>(spec.input.vocabulary > 0 ? spec.input.vocabulary : 256);
        for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(stream.below(values_of));
        const bool tells_numbers = spec.target.kind == TargetKind::Numbers;
        labels.resize(tells_numbers ? 0 : 64);
        for (auto& label : labels) label = static_cast<std::int32_t>(stream.below(10));
        numbers.resize(tells_numbers ? std::size_t{64} * spec.target.width : 0);
        for (float& number : numbers) number = static_cast<float>(stream.normal());
        view = {.shape = spec.input, .values = values, .labels = labels, .target = spec.target, .numbers = numbers};
    }
    std::vector<std::uint8_t> values;
    std::vector<std::int32_t> labels;  // or
    std::vector<float> numbers;
    ExamplesView view;
};

double difference(aggregation::ConstParamSpan a, aggregation::ConstParamSpan b, std::size_t size) {
    double off = 0.0, length = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
        off += std::pow(static_cast<double>(a.data[i]) - static_cast<double>(b.data[i]), 2);
        length += std::pow(static_cast<double>(b.data[i]), 2);
    }
    return std::sqrt(off / length);
}

}  // namespace

TEST_SUITE("DirectStep") {
    TEST_CASE("GradientsStepsAndEvaluationsAreLibTorchsUpToRounding") {
        prepare_libtorch(1);
        int number = 0;
        for (const ModelSpec& spec : models()) {
            CAPTURE(number++);
            const Drawn examples(spec);
            const Normalization normalization = spec.input.vocabulary > 0 ? Normalization{} : Normalization{{0.4}, {0.25}};
            const aggregation::SgdOptions optimizer{0.02F, 0.9F, 0.01F, false};
            FlatModel model(spec, aggregation::MemorySpace::Host);
            direct::Network network(spec);
            REQUIRE(network.layout().fingerprint() == model.layout().fingerprint());
            std::vector<float> global(model.layout().num_floats());
            initial_parameters(spec, model.layout(), 3, global);
            LibtorchStep libtorch(model, examples.view, normalization, optimizer);
            DirectStep direct(network, examples.view, normalization, optimizer);
            ClientStart start;
            start.global = global;
            const std::size_t trainable = network.layout().num_trainable();
            // A batch's statistics magnify the rounding errors of both engines.
            const double most = layer_with_buffers(plan_model(spec)) == nullptr ? 1e-5 : 3e-5;
            for (const std::size_t size : {1U, 10U, 33U}) {
                CAPTURE(size);
                std::vector<std::uint32_t> batch(size);
                std::iota(batch.begin(), batch.end(), 5U);
                libtorch.begin(start);
                direct.begin(start);
                libtorch.compute_gradient(batch);
                direct.compute_gradient(batch);
                CHECK(difference(direct.gradient(), libtorch.gradient(), trainable) < most);
                for (TrainingStep* step : std::initializer_list<TrainingStep*>{&libtorch, &direct}) {
                    step->apply_gradients();
                    step->step(batch);
                }
                CHECK(difference(direct.parameters(), libtorch.parameters(), global.size()) < most);
                CHECK(direct.loss_sum() == doctest::Approx(libtorch.loss_sum()).epsilon(1e-5));
            }
            LibtorchEvaluation libtorch_evaluation(model, examples.view.shape, normalization);
            DirectEvaluation direct_evaluation(network, examples.view.shape, normalization);
            const testing::Evaluated wanted = testing::evaluated_range(libtorch_evaluation, global, examples.view, 3, 60);
            const testing::Evaluated found = testing::evaluated_range(direct_evaluation, global, examples.view, 3, 60);
            CHECK(found.loss_sum == doctest::Approx(wanted.loss_sum).epsilon(1e-5));
            CHECK(found.correct == wanted.correct);
            CHECK(found.among_five == wanted.among_five);
            CHECK(found.absolute_sum == doctest::Approx(wanted.absolute_sum).epsilon(1e-5));
        }
    }
}
