#include "clients/models/model_plan.h"

#include "tests/support/golden_messages.h"
#include "tests/support/small_model.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// The fit of one layer on an image of 8 x 9 x 7.
LayerFit fit_of(std::string_view kind, const std::vector<float>& arguments = {}) {
    LayerList layers;
    layers.add(kind, arguments).add("flatten").add("linear");
    return plan_model(testing::listed_model(layers, {8, 9, 7})).front().fit;
}

LayerList ending(LayerList layers) { return layers.add("flatten").add("linear"); }

const ExampleShape kTokens{12, 1, 1, 7};

void refused(const LayerList& layers, const std::string& path, ExampleShape input = {1, 28, 28}) {
    try {
        plan_model(testing::listed_model(layers, input));
        FAIL("nothing was thrown");
    } catch (const LayerMisfit& misfit) {
        CHECK(misfit.path == path);
        CHECK_MESSAGE_IS("models", "", misfit.what());
    }
}

}  // namespace

TEST_SUITE("ModelPlan") {
    TEST_CASE("EveryKindSaysWhatItMakesOfAShape") {
        CHECK(fit_of("conv2d", {6, 3}).out == Shape{6, 7, 5});
        CHECK(fit_of("conv2d", {6, 3, 2}).out == Shape{6, 4, 3});
        CHECK(fit_of("conv2d", {6, 3, 2, 1}).out == Shape{6, 5, 4});
        CHECK(fit_of("conv2d", {6, 3, 1, 1, 2}).parameters[0].shape == Shape{6, 4, 3, 3});
        CHECK(fit_of("conv2d", {6, 3}).parameters[1].shape == Shape{6});
        CHECK(fit_of("conv2d", {6, 3, 1, 0, 1, 1}).parameters.size() == 2);
        CHECK(fit_of("conv2d", {6, 3, 1, 0, 1, 0}).parameters.size() == 1);
        CHECK(fit_of("max_pool", {2}).out == Shape{8, 4, 3});
        CHECK(fit_of("avg_pool", {3}).out == Shape{8, 3, 2});
        CHECK(fit_of("avg_pool").out == Shape{8, 1, 1});
        CHECK(fit_of("max_pool", {3, 2, 1}).out == Shape{8, 5, 4});
        CHECK(fit_of("avg_pool", {2, 3}).out == Shape{8, 3, 2});
        CHECK(fit_of("avg_pool", {3, 1, 1}).out == Shape{8, 9, 7});
        CHECK(fit_of("flatten").out == Shape{8 * 9 * 7});
        CHECK(fit_of("group_norm", {4}).parameters[0].shape == Shape{8});
        CHECK(fit_of("layer_norm").parameters[1].shape == Shape{8, 9, 7});
        for (const char* kind : {"relu", "tanh", "gelu", "dropout", "dropout2d", "scale", "channel_shuffle"}) {
            CAPTURE(kind);
            const std::vector<float> two{kind == std::string("channel_shuffle") ? std::vector{2.0F} : std::vector<float>{}};
            CHECK(fit_of(kind, two).out == Shape{8, 9, 7});
            CHECK(fit_of(kind, two).parameters.empty());
        }
    }

    TEST_CASE("LowRankFactorsStandBehindTheWeightsAndBeginWithAProductOf0") {
        LayerList layers;
        layers.add("embedding", {6})
            .add("attention", {2, 1, 0, 3})
            .add("linear", {5, 0, 2, 4})
            .add("last_position")
            .add("linear");
        const auto plan = plan_model(testing::listed_model(layers, kTokens));
        const auto& attention = plan[1].fit.parameters;
        REQUIRE(attention.size() == 8);
        CHECK(attention[4].name == "in_proj.A");
        CHECK(attention[5].shape == Shape{18, 3});
        CHECK(attention[7].name == "out_proj.B");
        const LayerFit& linear = plan[2].fit;
        REQUIRE(linear.parameters.size() == 3);
        CHECK(linear.parameters[1].name == "A");
        CHECK(linear.parameters[1].shape == Shape{2, 6});
        CHECK(linear.parameters[1].initial == Initial::Kaiming);
        CHECK(linear.parameters[1].fan_in == 6.0);
        CHECK(linear.parameters[2].shape == Shape{5, 2});
        CHECK(linear.parameters[2].initial == Initial::Zeros);
        CHECK(linear.flops == 12.0 * (2 * 6 * 5 - 5 + 2 * 2 * 6 + 2 * 2 * 5));
        CHECK(low_rank_terms(plan[2].arguments).scale == 2.0);
        CHECK(low_rank_terms(plan[1].arguments).scale == 1.0);
    }

    TEST_CASE("OperationsAreCountedByHand") {
        CHECK(fit_of("conv2d", {6, 3, 1, 0, 2}).flops == 2.0 * 4 * 9 * (6 * 7 * 5));
        CHECK(fit_of("avg_pool", {2}).flops == 4.0 * (8 * 4 * 3));
        CHECK(fit_of("avg_pool").flops == 8.0 * 9 * 7);
        CHECK(fit_of("relu").flops == 8.0 * 9 * 7);
        CHECK(fit_of("flatten").flops == 0.0);
        LayerList residual;
        residual.add("residual").add("relu").add("tanh").end();
        const auto plan = plan_model(testing::listed_model(ending(residual)));
        CHECK(num_flops(plan[0]) == 3.0 * 784);
        CHECK(num_flops(plan[2]) == 2.0 * 784 * 10);
        LayerList shrinking;
        shrinking.add("residual").add("max_pool", {2}).shortcut().add("conv2d", {1, 1, 2}).end();
        CHECK(num_flops(plan_model(testing::listed_model(ending(shrinking)))[0]) == (4.0 + 2.0 + 1.0) * 196);
    }

    TEST_CASE("TokensBecomeASequenceAndItsLastPositionARow") {
        LayerList layers;
        layers.add("embedding", {3}).add("lstm", {5, 2, 1}).add("dropout").add("lstm", {4}).add("linear");
        const auto plan = plan_model(testing::listed_model(layers, kTokens));
        CHECK(plan[0].fit.out == Shape{12, 3});
        CHECK(plan[0].fit.parameters[0].shape == Shape{7, 3});
        CHECK(plan[0].fit.flops == 0.0);
        CHECK(plan[1].fit.out == Shape{12, 5});
        std::vector<std::string> names;
        std::vector<Shape> shapes;
        for (const Parameter& parameter : plan[1].fit.parameters) {
            names.push_back(parameter.name);
            shapes.push_back(parameter.shape);
        }
        CHECK(names == std::vector<std::string>{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l1",
                                                "weight_hh_l1", "bias_ih_l1", "bias_hh_l1"});
        CHECK(shapes == std::vector<Shape>{{20, 3}, {20, 5}, {20}, {20}, {20, 5}, {20, 5}, {20}, {20}});
        // Per position: both products, their sum, four gate functions, three operations on the cell, two on the output.
        CHECK(plan[1].fit.flops ==
              12.0 * (2 * 20 * (3 + 5) + 20 + 20 + 3 * 5 + 2 * 5) + 12.0 * (2 * 20 * (5 + 5) + 20 + 20 + 3 * 5 + 2 * 5));
        CHECK(plan[3].fit.out == Shape{4});
        const auto gru = plan_model(testing::listed_model(
            LayerList().add("embedding", {3}).add("gru", {5, 2, 1, 1}).add("gru", {4, 1, 0, 1}).add("linear"), kTokens));
        CHECK(gru[1].fit.out == Shape{12, 10});
        CHECK(gru[2].fit.out == Shape{8});
        CHECK(gru[1].fit.parameters[4].name == "weight_ih_l0_reverse");
        CHECK(gru[1].fit.parameters[8].name == "weight_ih_l1");
        CHECK(gru[1].fit.parameters[8].shape == Shape{15, 10});
        CHECK(gru[1].fit.parameters[15].name == "bias_hh_l1_reverse");
        CHECK(gru[1].fit.parameters[15].shape == Shape{15});
        // Per position and way: both products, two sums, the reset product and its sum, three gate functions, the mixture.
        CHECK(gru[2].fit.flops == 12.0 * 2 * (2 * 12 * (10 + 4) + 2 * 4 + 2 * 4 + 3 * 4 + 3 * 4));
        CHECK(plan_model(testing::listed_model(LayerList().add("embedding", {3, 9}).add("flatten").add("linear"), kTokens))[0]
                  .fit.parameters[0]
                  .shape == Shape{9, 3});
    }

    TEST_CASE("TokensGoIntoAnEmbeddingAndNothingElseDoes") {
        for (const char* kind : {"flatten", "relu"}) refused(ending(LayerList().add(kind)), "[0]", kTokens);
        refused(LayerList().add("linear"), "[0]", kTokens);
        refused(ending(LayerList().add("residual").add("embedding", {3}).end()), "[0]", kTokens);
        refused(ending(LayerList().add("embedding", {3})), "[0]");
        refused(ending(LayerList().add("embedding", {3}).add("embedding", {3})), "[1]", kTokens);
        refused(ending(LayerList().add("embedding", {3, 6})), "[0]", kTokens);
    }

    TEST_CASE("SequencesAreRefusedByLayersOfImagesAndWantedByLstm") {
        const auto after = [](const char* kind, const std::vector<float>& arguments = {}) {
            return ending(LayerList().add("embedding", {3}).add(kind, arguments));
        };
        for (const auto& [kind, arguments] : std::vector<std::pair<const char*, std::vector<float>>>{
                 {"conv2d", {3, 3}}, {"max_pool", {2}}, {"dropout2d", {}}, {"group_norm", {1}}, {"batch_norm", {}}})
            refused(after(kind, arguments), "[1]", kTokens);
        refused(LayerList().add("embedding", {3}).add("linear"), "[1]", kTokens);
        refused(ending(LayerList().add("embedding", {3}).add("lstm", {4}).add("lstm", {4})), "[2]", kTokens);
        for (const auto& [kind, arguments] : std::vector<std::pair<const char*, std::vector<float>>>{{"lstm", {4}},
                                                                                                     {"gru", {4}},
                                                                                                     {"position", {}},
                                                                                                     {"attention", {2}},
                                                                                                     {"last_position", {}},
                                                                                                     {"mean", {}},
                                                                                                     {"layer_norm", {1}}})
            refused(ending(LayerList().add(kind, arguments)), "[0]");
    }

    TEST_CASE("LastLayerGivesWhatTheTargetsAskFor") {
        const auto last_of = [](ModelSpec spec, TargetShape target) {
            spec.target = target;
            return plan_model(spec).back();
        };
        const ModelSpec row = testing::listed_model(LayerList().add("flatten").add("linear"), {4, 1, 1});
        CHECK(last_of(row, {TargetKind::Numbers, 3}).fit.out == Shape{3});
        const ModelSpec wide = testing::listed_model(LayerList().add("flatten").add("linear", {5}), {4, 1, 1});
        CHECK_THROWN_MESSAGE("models", "", LayerMisfit, last_of(wide, {TargetKind::Numbers, 1}));
        // The same parameters at each of 12 positions: 3 features to 10 classes, 2 x 3 x 10 operations each.
        const PlannedLayer each = last_of(testing::listed_model(LayerList().add("embedding", {3}).add("linear"), kTokens),
                                          {TargetKind::ClassEach, 12});
        CHECK(each.fit.out == Shape{12, 10});
        CHECK(num_parameters(each) == 3 * 10 + 10);
        CHECK(num_flops(each) == 12 * 2 * 3 * 10);
        const ModelSpec told = named_model("char_lstm", kTokens, 10, {}, {TargetKind::ClassEach, 12});
        CHECK(plan_model(told).back().fit.out == Shape{12, 10});
        CHECK(num_parameters(told) == num_parameters(named_model("char_lstm", kTokens, 10)));
    }

    TEST_CASE("NamedModelsTellWhatTheyAreMadeFor") {
        const auto refused_as = [](const std::string& name, TargetKind kind) {
            CHECK_THROWN_MESSAGE("models", name, ConfigError, named_model(name, {1, 28, 28}, 10, {}, {kind, 1}));
        };
        refused_as("lr", TargetKind::Numbers);
        refused_as("linear_regression", TargetKind::Class);
        refused_as("mlp", TargetKind::ClassEach);
    }

    TEST_CASE("NamedModelsTakeTokensOrNumbers") {
        CHECK_THROWN_MESSAGE("models", "", ConfigError, named_model("char_lstm", {1, 28, 28}, 10));
        CHECK_THROWN_MESSAGE("models", "", ConfigError, named_model("cnn_m", kTokens, 10));
        CHECK(text_of(ExampleShape{80, 1, 1, 65}) == "80 tokens of 65");
        CHECK(text_of(ExampleShape{3, 32, 32}) == "3 x 32 x 32");
    }

    TEST_CASE("ParametersAreNumberedAsInNnSequentialOrNamed") {
        LayerList layers;
        layers.add("conv2d", {4, 3, 1, 1}).add("relu").add("residual");
        layers.add("group_norm", {2}).add("conv2d", {4, 3, 1, 1}).end();
        layers.add("residual", {}, "block").add("conv2d", {4, 1}).end();
        std::vector<std::string> names;
        const aggregation::Layout layout = model_layout(testing::listed_model(ending(layers)));
        for (const auto& entry : layout.entries()) names.push_back(entry.name);
        CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.0.weight", "2.0.bias", "2.1.weight", "2.1.bias",
                                                "block.0.weight", "block.0.bias", "5.weight", "5.bias"});
        CHECK(num_parameters(testing::listed_model(ending(layers))) == static_cast<double>(layout.num_values()));
    }

    TEST_CASE("ShortcutsParametersStandBehindThoseOfTheOtherWay") {
        LayerList layers;
        layers.add("residual").add("conv2d", {4, 3, 2, 1, 1, 0}).add("batch_norm").shortcut();
        layers.add("conv2d", {4, 1, 2}).add("batch_norm").end();
        layers.add("residual", {}, "layer1.0").add("tanh").shortcut("downsample").add("conv2d", {4, 1}, "proj").end();
        std::vector<std::string> names;
        const ModelSpec spec = testing::listed_model(ending(layers));
        const aggregation::Layout layout = model_layout(spec);
        for (const auto& entry : layout.entries()) names.push_back(entry.name);
        CHECK(names == std::vector<std::string>{"0.0.weight", "0.1.weight", "0.1.bias", "0.shortcut.0.weight",
                                                "0.shortcut.0.bias", "0.shortcut.1.weight", "0.shortcut.1.bias",
                                                "layer1.0.downsample.proj.weight", "layer1.0.downsample.proj.bias", "3.weight",
                                                "3.bias", "0.1.running_mean", "0.1.running_var", "0.shortcut.1.running_mean",
                                                "0.shortcut.1.running_var"});
        const auto plan = plan_model(spec);
        CHECK(plan[0].fit.out == Shape{4, 14, 14});
        CHECK(plan[0].shortcut[1].number == "0.shortcut.1");
        CHECK(num_parameters(spec) == static_cast<double>(layout.num_parameters()));
        LayerList beside;
        beside.add("flatten").add("residual").add("tanh").shortcut().add("batch_norm").end();
        CHECK(layer_with_buffers(plan_model(testing::listed_model(beside.add("linear"))))->number == "1.shortcut.0");
    }

    TEST_CASE("NamesOfResidualNetworksAreTorchvisions") {
        std::vector<std::string> names;
        const aggregation::Layout layout =
            model_layout(named_model("resnet18", {3, 32, 32}, 10, {{"norm", std::string("batch")}}));
        for (const auto& entry : layout.entries()) names.push_back(entry.name);
        CHECK(names.size() == 62 + 40);  // 62 parameters and two statistics of each of 20 norms
        for (const char* name : {"conv1.weight", "bn1.running_var", "layer1.1.bn2.bias", "layer2.0.downsample.0.weight",
                                 "layer4.0.downsample.1.running_mean", "layer4.1.conv2.weight", "fc.bias"})
            CHECK_MESSAGE(std::ranges::count(names, name) == 1, name);
        CHECK(std::ranges::count(names, "layer1.0.downsample.0.weight") == 0);
    }

    TEST_CASE("FrozenParametersHaveALayoutOfTheirOwn") {
        ModelSpec spec = named_model("resnet20", {3, 32, 32}, 10, {{"norm", std::string("batch")}});
        const double all = num_parameters(spec);
        const std::size_t buffers = model_layout(spec).num_values() - model_layout(spec).num_parameters();
        CHECK(num_frozen(spec) == 0.0);
        CHECK(frozen_layout(spec).entries().empty());
        spec.frozen = NamePatterns::of({"layer1.*", "layer2.0.*", "conv1.weight"});
        const aggregation::Layout trained = model_layout(spec), frozen = frozen_layout(spec), whole = whole_layout(spec);
        CHECK(num_parameters(spec) == all);
        CHECK(num_frozen(spec) == static_cast<double>(frozen.num_parameters()));
        CHECK(frozen.num_values() == frozen.num_parameters());
        CHECK(trained.num_parameters() + frozen.num_parameters() == static_cast<std::size_t>(all));
        CHECK(trained.num_values() - trained.num_parameters() == buffers);  // buffers are moved as before
        CHECK(whole.fingerprint() ==
              model_layout(named_model("resnet20", {3, 32, 32}, 10, {{"norm", std::string("batch")}})).fingerprint());
        CHECK(frozen.entries().front().name == "conv1.weight");
        CHECK(std::ranges::any_of(frozen.entries(), [](const auto& entry) {
            return entry.name == "layer2.0.shortcut.0.weight" || entry.name == "layer2.0.downsample.0.weight";
        }));
    }

    TEST_CASE("LayerThatDoesNotFitIsNamedWithWhatComesIn") {
        refused(LayerList().add("relu").add("linear"), "[1]");
        refused(ending(LayerList().add("flatten").add("conv2d", {3, 3})), "[1]");
        refused(ending(LayerList().add("max_pool", {7}).add("conv2d", {3, 5})), "[1]");
        refused(ending(LayerList().add("conv2d", {6, 3, 1, 0, 4})), "[0]");
        refused(ending(LayerList().add("avg_pool", {29})), "[0]");
        refused(ending(LayerList().add("avg_pool", {0, 2})), "[0]");
        refused(ending(LayerList().add("max_pool", {3, 1, 2})), "[0]");
        refused(ending(LayerList().add("max_pool", {31, 1, 1})), "[0]");
        refused(ending(LayerList().add("conv2d", {6, 3}).add("group_norm", {4})), "[1]");
        refused(ending(LayerList().add("conv2d", {6, 28}).add("group_norm", {6})), "[1]");
        refused(ending(LayerList().add("flatten").add("dropout2d")), "[1]");
        refused(LayerList().add("flatten").add("linear", {0, 1, 0, 4}), "[1]");
        refused(ending(LayerList().add("conv2d", {6, 3}).add("channel_shuffle", {4})), "[1]");
        refused(ending(LayerList().add("conv2d", {1e6F, 1, 1, 1e6F}).add("conv2d", {1e6F, 1, 1, 1e6F})), "[0]");
    }

    TEST_CASE("ListThatDoesNotEndInTheClassesIsRefused") {
        refused(LayerList().add("flatten").add("linear", {12}), "[1]");
        refused(LayerList().add("flatten").add("linear").add("linear"), "[1]");
        refused(LayerList(), "");
        CHECK_THROWS_WITH_AS(plan_model(testing::listed_model(LayerList().add("flatten"), {10, 1, 1})),
                             doctest::Contains("no layer with parameters"), LayerMisfit);
    }

    TEST_CASE("ResidualKeepsTheShapeAndHoldsLayers") {
        const auto around = [](const LayerList& inner, const LayerList& before = {}) {
            LayerList layers = before;
            layers.add("residual");
            for (const ListedLayer& layer : inner.entries())
                layers.add(layer_catalog()[layer.kind].name,
                           {layer.arguments.begin(),
                            layer.arguments.begin() + static_cast<std::ptrdiff_t>(layer_catalog()[layer.kind].keys.size())});
            return ending(layers.end());
        };
        refused(around({}), "[0]");
        refused(around(LayerList().add("max_pool", {2})), "[0]");
        refused(around(LayerList().add("relu").add("max_pool", {30}), LayerList().add("tanh")), "[1].residual[1]");
    }

    TEST_CASE("ShortcutMakesTheSameShapeAndIsNamedWhereItDoesNot") {
        const auto beside = [](const char* kind, const std::vector<float>& arguments) {
            return ending(LayerList().add("residual").add("max_pool", {2}).shortcut().add("tanh").add(kind, arguments).end());
        };
        CHECK(plan_model(testing::listed_model(beside("avg_pool", {2})))[0].fit.out == Shape{1, 14, 14});
        refused(beside("relu", {}), "[0]");
        refused(beside("max_pool", {30}), "[0].shortcut[1]");
        refused(ending(LayerList().add("residual").add("relu").shortcut().end()), "[0]");
        CHECK_THROWS_WITH_AS(plan_model(testing::listed_model(
                                 ending(LayerList().add("residual").add("relu").shortcut().add("tanh").shortcut()))),
                             doctest::Contains("is a second shortcut"), Fault);
        CHECK_THROWN_MESSAGE("models", "", Fault,
                             plan_model(testing::listed_model(ending(LayerList().add("relu").shortcut()))));
    }

    TEST_CASE("ListIsFullAtItsCapacity") {
        LayerList layers;
        for (std::size_t i = 0; i < LayerList::kCapacity; ++i) layers.add("relu");
        CHECK(layers.entries().size() == 96);
        CHECK_THROWN_MESSAGE("models", "", ConfigError, layers.add("relu"));
        CHECK_THROWS_WITH_AS(LayerList().add("relu6"), doctest::Contains("there is no layer 'relu6'"), Fault);
        CHECK_THROWS_WITH_AS(LayerList().add("relu", {1}), doctest::Contains("1 arguments for relu"), Fault);
        CHECK_THROWN_MESSAGE("models", "", Fault, plan_model(testing::listed_model(ending(LayerList().end()))));
    }

    TEST_CASE("ModelIsKnownByItsNameKeysAndExamples") {
        CHECK_THROWS_WITH_AS(named_model("resnet", {1, 28, 28}, 10),
                             doctest::Contains("known: lr, linear_regression, mlp, mnist_cnn"), ConfigError);
        CHECK_THROWS_WITH_AS(named_model("mnist_cnn", {3, 32, 32}, 10), doctest::Contains("1 x 28 x 28"), ConfigError);
        CHECK_THROWS_WITH_AS(named_model("cnn_m", {20, 1, 1}, 10), doctest::Contains("6 x 6"), ConfigError);
        CHECK(num_parameters(named_model("mlp", {4, 1, 1}, 3, {{"hidden", 5}})) == 4 * 5 + 5 + 5 * 5 + 5 + 5 * 3 + 3);
    }
}
