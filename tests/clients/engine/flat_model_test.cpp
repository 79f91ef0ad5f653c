#include "clients/models/flat_model.h"

#include "aggregation/base/error.h"
#include "clients/models/initial.h"
#include "clients/trainers/engine.h"
#include "clients/trainers/libtorch_info.h"
#include "tests/support/skip.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

ModelSpec image_spec(std::string_view name, ExampleShape shape = {1, 28, 28}) {
    const TargetKind kind = name == "linear_regression" ? TargetKind::Numbers : TargetKind::Class;
    return named_model(name, shape, 10, {}, {kind, kind == TargetKind::Numbers ? 10U : 1U});
}

}  // namespace

TEST_SUITE("Models") {
    TEST_CASE("NumberOfParametersIsTheLiteratures") {
        CHECK(model_layout(image_spec("lr")).num_values() == 7'850);
        CHECK(model_layout(image_spec("mlp")).num_values() == 199'210);
        CHECK(model_layout(image_spec("mnist_cnn")).num_values() == 21'840);
        CHECK(model_layout(image_spec("cnn_m")).num_values() == 1'199'882);
        CHECK(model_layout(image_spec("cnn_m", {3, 32, 32})).num_values() == 1'626'442);
    }

    TEST_CASE("NamesAreThoseOfAStateDict") {
        const auto layout = model_layout(image_spec("mnist_cnn"));
        CHECK(layout.entries()[0].name == "conv1.weight");
        CHECK(layout.entries()[0].shape == std::vector<std::int64_t>{10, 1, 5, 5});
        CHECK(layout.entries()[7].name == "fc2.bias");
    }

    TEST_CASE("ModelThatDoesNotFitTheDataIsRefused") {
        CHECK_THROWS_WITH_AS(model_layout(image_spec("mnist_cnn", {3, 32, 32})), doctest::Contains("1 x 28 x 28"), ConfigError);
        CHECK_THROWS_WITH_AS(model_layout(image_spec("cnn_m", {20, 1, 1})), doctest::Contains("6 x 6"), ConfigError);
        CHECK_THROWS_WITH_AS(model_layout(image_spec("resnet")), doctest::Contains("known: lr, linear_regression, mlp"),
                             ConfigError);
    }

    TEST_CASE("EveryNameBuildsAndGivesOneScorePerClass") {
        for (const std::string& name : names_of(model_catalog())) {
            const ExampleShape shape = name.starts_with("char_") ? ExampleShape{12, 1, 1, 7} : ExampleShape{1, 28, 28};
            CHECK(Classifier(image_spec(name, shape))
                      .forward(at::zeros({2, shape.channels, shape.height, shape.width}))
                      .sizes() == at::IntArrayRef({2, 10}));
        }
    }

    TEST_CASE("DropoutActsInTrainingOnlyAndOnlyWhenAsked") {
        for (const std::string_view name : {"mnist_cnn", "cnn_m"}) {
            for (const bool dropout : {true, false}) {
                Classifier model(named_model(name, {1, 28, 28}, 10, {{"dropout", dropout}}));
                model.initialise();
                const at::Tensor examples = at::ones({4, 1, 28, 28});
                model.train();
                CHECK(at::equal(model.forward(examples), model.forward(examples)) == !dropout);
                model.eval();
                CHECK(at::equal(model.forward(examples), model.forward(examples)));
            }
        }
    }

    TEST_CASE("SeedDecidesTheInitialParameters") {
        const ModelSpec spec = image_spec("mnist_cnn");
        const auto layout = model_layout(spec);
        const auto draw = [&](std::uint64_t seed) {
            std::vector<float> model(layout.num_floats(), 0.0F);
            initial_parameters(spec, layout, seed, model);
            return model;
        };
        CHECK(draw(1) == draw(1));
        CHECK(draw(1) != draw(2));
    }

    TEST_CASE("ParametersDrawnWithoutLibtorchHaveItsBits") {
        if (libtorch_info().cpu_capability == "DEFAULT")
            FEDHIVE_SKIP("LibTorch fuses no multiplication with an addition on this processor");
        std::vector<ModelSpec> specs;
        for (const std::string& name : names_of(model_catalog()))
            if (!name.starts_with("char_")) specs.push_back(image_spec(name));
        ModelSpec norms = image_spec("lr");  // ones, zeros, and buffers
        norms.layers =
            LayerList().add("conv2d", {3, 3}).add("group_norm", {3}).add("batch_norm").add("flatten").add("linear", {10});
        specs.push_back(norms);
        for (const ModelSpec& spec : specs) {
            for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{0x123456789ABCDEF0}}) {
                const auto layout = model_layout(spec);
                CAPTURE(layout.num_floats());
                std::vector<float> here(layout.num_floats(), 7.0F);
                std::vector<float> there = here;
                REQUIRE(draw_initial(spec, layout, seed, here));
                draw_with_libtorch(spec, layout, seed, there);
                CHECK(here == there);
            }
        }
    }

    TEST_CASE("NormalTensorsAreLeftToLibtorch") {
        const ModelSpec spec = named_model("char_lstm", {.channels = 80, .vocabulary = 30}, 30);
        const auto layout = model_layout(spec);
        std::vector<float> here(layout.num_floats(), 7.0F);
        const std::vector<float> before = here;
        CHECK_FALSE(draw_initial(spec, layout, 1, here));
        CHECK(here == before);
    }

    TEST_CASE("InitialParametersFillTheRangeThatPyTorchGivesThem") {
        for (const std::string& name : names_of(model_catalog())) {
            if (name.starts_with("char_")) continue;  // covered by layers_test.cpp
            Classifier model(image_spec(name));
            model.initialise();
            double bound = 0.0;  // of the last weight's layer
            auto place = model.tensors().begin();
            for_each_tensor(plan_model(image_spec(name)), [&](const std::string& tensor_name, const Parameter& parameter) {
                CAPTURE(tensor_name);
                const at::Tensor& tensor = **place++;
                const double largest = tensor.abs().max().item<double>();
                if (tensor.dim() == 1 && tensor_name.find("bn") == std::string::npos &&
                    tensor_name.find("downsample.1") == std::string::npos) {  // a bias
                    CHECK(largest <= bound);
                    CHECK(largest > 0.3 * bound);
                } else if (tensor.dim() == 1) {  // a norm's
                    CHECK(tensor.eq(parameter.name == "weight" ? 1.0 : 0.0).all().item<bool>());
                } else {
                    bound = 1.0 / std::sqrt(static_cast<double>(tensor.numel() / tensor.size(0)));
                    CHECK(largest <= bound * 1.000001);
                    CHECK(largest > 0.95 * bound);
                    CHECK(tensor.min().item<double>() < -0.9 * bound);
                }
            });
        }
    }
}

TEST_SUITE("FlatModel") {
    TEST_CASE("ParametersAreViewsAndWhatBackwardLeavesIsCollectedInTheirPlaces") {
        FlatModel model(image_spec("mnist_cnn"), aggregation::MemorySpace::Host);
        initial_parameters(image_spec("mnist_cnn"), model.layout(), 1, model.parameters());
        const auto backward = [&] { model.module().forward(at::ones({2, 1, 28, 28})).sum().backward(); };
        model.module().eval();
        backward();
        std::vector<at::Tensor> gradients;
        for (const at::Tensor* tensor : model.module().tensors()) gradients.push_back(tensor->grad().clone());
        model.take_gradient();
        model.gradient();
        std::size_t index = 0;
        for (const at::Tensor* tensor : model.module().tensors()) {
            const auto& entry = model.layout().entries()[index];
            CHECK(tensor->data_ptr<float>() == model.parameters().data + entry.offset);
            CHECK_FALSE(tensor->grad().defined());
            CHECK(gradients[index].abs().sum().item<float>() > 0.0F);
            CHECK(at::from_blob(model.gradient().data + entry.offset, entry.shape).equal(gradients[index]));
            ++index;
        }
        const std::vector<float> once(model.gradient().host().begin(), model.gradient().host().end());
        backward();
        model.take_gradient();
        model.gradient();
        CHECK(std::equal(once.begin(), once.end(), model.gradient().host().begin()));
    }

    TEST_CASE("AGradientThatNobodyCollectedIsDropped") {
        FlatModel model(image_spec("lr"), aggregation::MemorySpace::Host);
        const auto backward = [&] { model.module().forward(at::ones({2, 1, 28, 28})).sum().backward(); };
        backward();
        model.take_gradient();
        model.gradient();
        const float once = model.gradient().data[0];
        backward();
        model.drop_gradient();
        backward();
        model.take_gradient();
        model.gradient();
        CHECK(once == 2.0F);
        CHECK(model.gradient().data[0] == once);
    }

    TEST_CASE("ATensorThatTheLossDoesNotDependOnHasGradientZero") {
        FlatModel model(image_spec("mlp"), aggregation::MemorySpace::Host);
        model.module().forward(at::ones({2, 1, 28, 28})).sum().backward();
        model.take_gradient();
        model.gradient();
        const auto& bias = model.layout().entries().back();
        CHECK(model.gradient().data[bias.offset] == 2.0F);
        model.module().forward_layers(at::ones({2, 1, 28, 28}), 0, 1).sum().backward();
        model.take_gradient();
        model.gradient();
        CHECK(model.gradient().data[bias.offset] == 0.0F);
    }

    TEST_CASE("StepTensorByTensorIsTheStepInOnePiece") {
        const auto trained = [&](const aggregation::OptimizerOptions& options, bool in_one_piece) {
            FlatModel model(image_spec("mlp"), aggregation::MemorySpace::Host);
            initial_parameters(image_spec("mlp"), model.layout(), 1, model.parameters());
            aggregation::ClientOptimizer optimizer(options, model.trainable().size, aggregation::MemorySpace::Host);
            optimizer.begin();
            for (int step = 0; step < 3; ++step) {
                model.module().forward(at::ones({2, 1, 28, 28})).sum().backward();
                model.take_gradient();
                if (in_one_piece) model.gradient();
                optimizer.begin_step();
                model.descend(optimizer);
            }
            std::vector<float> all(optimizer.state().host().begin(), optimizer.state().host().end());
            all.insert(all.end(), model.parameters().host().begin(), model.parameters().host().end());
            return all;
        };
        const aggregation::SgdOptions sgd{.lr = 0.1F, .momentum = 0.5F, .weight_decay = 0.01F, .nesterov = true};
        CHECK(trained(sgd, true) == trained(sgd, false));
        CHECK(trained(aggregation::AdamOptions{}, true) == trained(aggregation::AdamOptions{}, false));
    }

    TEST_CASE("ChangedGradientIsFollowed") {
        FlatModel model(image_spec("lr"), aggregation::MemorySpace::Host);
        model.module().forward(at::ones({2, 1, 28, 28})).sum().backward();
        model.take_gradient();
        model.gradient().data[1] = 64.0F;
        aggregation::ClientOptimizer optimizer(aggregation::SgdOptions{.lr = 0.5F}, model.trainable().size,
                                               aggregation::MemorySpace::Host);
        optimizer.begin();
        optimizer.begin_step();
        model.descend(optimizer);
        CHECK(model.parameters().data[0] == -1.0F);
        CHECK(model.parameters().data[1] == -32.0F);
    }

    TEST_CASE("WritingTheFlatParametersChangesTheModel") {
        const FlatModel model(image_spec("lr"), aggregation::MemorySpace::Host);
        CHECK(model.module().forward(at::ones({1, 1, 28, 28})).abs().sum().item<float>() == 0.0F);
        const auto& bias = model.layout().entries()[1];
        model.parameters().data[bias.offset + 3] = 2.0F;
        CHECK(model.module().forward(at::ones({1, 1, 28, 28}))[0][3].item<float>() == 2.0F);
    }
}
