#include "clients/models/model_plan.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

using namespace fedhive::clients;

TEST_SUITE("ParameterCount") {
    TEST_CASE("IsThatOfTheLiterature") {
        const auto count = [](const char* name, const ExampleShape& shape) {
            return num_parameters(named_model(name, shape, 10));
        };
        const ExampleShape mnist{1, 28, 28}, cifar{3, 32, 32};
        CHECK(count("lr", mnist) == 7'850);
        CHECK(count("mlp", mnist) == 199'210);  // as in McMahan et al. 2017
        CHECK(count("mnist_cnn", mnist) == 21'840);
        CHECK(count("net62k", cifar) == 62'006);
        CHECK(count("net62k", mnist) == 44'426);
        CHECK(count("mcmahan_cnn", mnist) == 1'663'370);
        CHECK(count("cnn_m", mnist) == 1'199'882);
        CHECK(count("cnn_m", cifar) == 1'626'442);  // as pfl-research's CNN for CIFAR-10
        // He et al. 2016: "0.27M" with shortcuts without parameters; here shortcuts are two 1 x 1 convolutions with norms.
        const double projections = 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64;
        CHECK(count("resnet20", cifar) == 269'722 + projections);
        // The network for ImageNet, 11,689,512, without its 1,000 classes and 7 x 7 stem.
        CHECK(count("resnet18", cifar) == 11'689'512 - 513 * 1000 + 513 * 10 - 3 * 64 * (7 * 7 - 3 * 3));
        for (const char* name : {"resnet20", "resnet18"})
            CHECK(num_parameters(named_model(name, cifar, 10, {{"norm", std::string("batch")}})) == count(name, cifar));
        // LEAF's 80 characters: embedding, two LSTM layers with one bias per gate, softmax. PyTorch has two biases.
        const double leaf = 80 * 8 + 4 * 256 * (8 + 256 + 1) + 4 * 256 * (256 + 256 + 1) + (256 + 1) * 80;
        CHECK(leaf == 817'872);
        CHECK(num_parameters(named_model("char_lstm", {80, 1, 1, 80}, 80)) == leaf + 2 * 4 * 256);
    }

    TEST_CASE("ImagesOfWhichPoolsLeaveNothingAreRefusedWithWhatElseToUse") {
        CHECK_THROWN_MESSAGE("models", "", fedhive::ConfigError, named_model("net62k", {3, 16, 15}, 10));
        CHECK_THROWS_AS(named_model("mcmahan_cnn", {1, 3, 4}, 10), fedhive::ConfigError);
        CHECK_THROWS_AS(named_model("resnet20", {3, 8, 7}, 10), fedhive::ConfigError);
        CHECK(num_parameters(named_model("resnet18", {3, 8, 8}, 10)) > 0);
        CHECK(num_parameters(named_model("net62k", {1, 16, 16}, 10)) > 0);
        CHECK(num_parameters(named_model("mcmahan_cnn", {1, 4, 4}, 10)) > 0);
    }

    TEST_CASE("IsThatOfTheLayout") {
        for (const std::string& name : names_of(model_catalog()))
            for (const ExampleShape shape : {ExampleShape{1, 28, 28}, {3, 32, 32}, {2, 17, 19}}) {
                CAPTURE(name);
                const ModelSpec spec =
                    named_model(name,
                                name == "mnist_cnn"         ? ExampleShape{1, 28, 28}
                                : name.starts_with("char_") ? ExampleShape{shape.height, 1, 1, 7}
                                                            : shape,
                                6, {}, TargetShape{name == "linear_regression" ? TargetKind::Numbers : TargetKind::Class, 6});
                CHECK(num_parameters(spec) == static_cast<double>(model_layout(spec).num_values()));
            }
    }

    TEST_CASE("MoreThanCanBeCountedIsStillANumber") {
        const ModelSpec spec = named_model("mlp", {1, 1000000, 1000000}, 1'000'000, {{"hidden", 16'777'216}});
        CHECK(num_parameters(spec) > 1e19);
    }
}
