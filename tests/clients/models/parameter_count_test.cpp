#include "clients/models/model_plan.h"

#include <doctest/doctest.h>

using namespace fedhive::clients;

TEST_SUITE("ParameterCount") {
    TEST_CASE("IsThatOfTheLayout") {
        for (const std::string& name : names_of(model_catalog()))
            for (const ExampleShape shape : {ExampleShape{1, 28, 28}, {3, 32, 32}, {2, 7, 9}}) {
                CAPTURE(name);
                const ModelSpec spec = named_model(name, name == "mnist_cnn" ? ExampleShape{1, 28, 28} : shape, 6);
                CHECK(num_parameters(spec) == static_cast<double>(model_layout(spec).num_values()));
            }
    }

    TEST_CASE("MoreThanCanBeCountedIsStillANumber") {
        const ModelSpec spec = named_model("mlp", {1, 1000000, 1000000}, 1'000'000, {{"hidden", 16'777'216}});
        CHECK(num_parameters(spec) > 1e19);
    }
}
