#include "clients/models/parameter_count.h"

#include <doctest/doctest.h>

using namespace fedhive::clients;

TEST_SUITE("ParameterCount") {
    TEST_CASE("IsThatOfTheModelAsItIsBuilt") {
        for (const std::string_view name : kModelNames)
            for (const ExampleShape shape : {ExampleShape{1, 28, 28}, {3, 32, 32}, {2, 7, 9}})
                for (const std::int64_t hidden : {1, 13}) {
                    ModelSpec spec;
                    spec.name.set(name);
                    spec.input = name == "mnist_cnn" ? ExampleShape{1, 28, 28} : shape;
                    spec.num_classes = 5 + hidden;
                    spec.hidden = hidden;
                    CAPTURE(name);
                    CHECK(num_parameters(spec) == static_cast<double>(model_layout(spec).num_values()));
                }
    }

    TEST_CASE("MoreThanCanBeCountedIsStillANumber") {
        ModelSpec spec;
        spec.name.set("mlp");
        spec.input = {1, 1000000, 1000000};
        spec.hidden = 1'000'000'000;
        spec.num_classes = 1'000'000;
        CHECK(num_parameters(spec) > 1e21);
    }
}
