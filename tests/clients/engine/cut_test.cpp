#include "clients/models/cut.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

ModelSpec spec_of(std::string_view name, ExampleShape input = {1, 28, 28}) { return named_model(name, input, 10); }

Cut cut_of(const ModelSpec& spec, std::string_view layer) { return cut_after(spec, model_layout(spec), layer); }

}  // namespace

TEST_SUITE("Cut") {
    TEST_CASE("LayersAreThoseOfTheTensorsNamesInForwardOrder") {
        using Names = std::vector<std::string>;
        CHECK(model_layers(spec_of("lr")) == Names{"linear"});
        CHECK(model_layers(spec_of("mlp")) == Names{"fc1", "fc2", "fc3"});
        CHECK(model_layers(spec_of("mnist_cnn")) == Names{"conv1", "conv2", "fc1", "fc2"});
        CHECK(model_layers(spec_of("cnn_m")) == Names{"conv1", "conv2", "fc1", "fc2"});
    }

    TEST_CASE("CutKnowsTheLayersTheParametersAndTheActivationsOfTheClient") {
        const auto check = [](const ModelSpec& spec, std::string_view layer, const Cut& expected) {
            CAPTURE(layer);
            const Cut found = cut_of(spec, layer);
            CHECK(found.num_layers == expected.num_layers);
            CHECK(found.offset == expected.offset);
            CHECK(found.activation_floats == expected.activation_floats);
        };
        check(spec_of("mlp"), "fc1", {1, 784 * 200 + 208, 200});
        check(spec_of("mlp"), "fc2", {2, 784 * 200 + 208 + 200 * 200 + 208, 200});
        check(spec_of("mnist_cnn"), "conv1", {1, 256 + 16, 10 * 12 * 12});
        check(spec_of("mnist_cnn"), "conv2", {2, 256 + 16 + 5000 + 8 + 32, 320});
        check(spec_of("mnist_cnn"), "fc1", {3, 256 + 16 + 5000 + 8 + 32 + 16000 + 64, 50});
        check(spec_of("cnn_m"), "conv1", {1, 288 + 32, 32 * 26 * 26});
        check(spec_of("cnn_m"), "conv2", {2, 288 + 32 + 18432 + 64, 9216});
        check(spec_of("cnn_m"), "fc1", {3, 288 + 32 + 18432 + 64 + 1179648 + 128, 128});
        check(spec_of("cnn_m", {3, 32, 32}), "conv2", {2, 864 + 32 + 18432 + 64, 12544});
    }

    TEST_CASE("UnknownOrLastLayerIsRefusedWithTheLayersThereAre") {
        CHECK_THROWS_WITH_AS(cut_of(spec_of("mnist_cnn"), "conv3"),
                             "mnist_cnn has no layer 'conv3'; allowed: conv1, conv2, fc1", ConfigError);
        CHECK_THROWS_WITH_AS(cut_of(spec_of("mlp"), "fc3"),
                             "'fc3' is the last layer of mlp, so no layer is left for the server; allowed: fc1, fc2",
                             ConfigError);
        CHECK_THROWS_WITH_AS(cut_of(spec_of("lr"), "linear"), "lr cannot be cut, because it has only one layer: linear",
                             ConfigError);
    }

    TEST_CASE("LayoutWithBuffersOrInAnotherOrderCannotBeCut") {
        const ModelSpec spec = spec_of("mlp");
        aggregation::Layout buffered = model_layout(spec);
        buffered.add("fc3.statistics", {2}, aggregation::TensorKind::Buffer);
        CHECK_THROWS_WITH_AS(cut_after(spec, buffered, "fc1"), doctest::Contains("'fc3.statistics'"), Fault);
        aggregation::Layout disordered;
        for (const char* name : {"fc1.weight", "fc3.weight", "fc2.weight"}) disordered.add(name, {4});
        CHECK_THROWS_WITH_AS(cut_after(spec, disordered, "fc1"), doctest::Contains("'fc2.weight'"), ConfigError);
        aggregation::Layout foreign = model_layout(spec);
        foreign.add("scale", {1});
        CHECK_THROWS_WITH_AS(cut_after(spec, foreign, "fc1"), doctest::Contains("'scale'"), Fault);
        aggregation::Layout half;
        half.add("fc1.weight", {4});
        CHECK_THROWS_WITH_AS(cut_after(spec, half, "fc1"), doctest::Contains("no parameters"), Fault);
    }
}
