// Layers of transformers: outputs' shapes, FLOPs, and the named model's parameter count.
#include "clients/models/model_plan.h"
#include "tests/support/golden_messages.h"
#include "tests/support/small_model.h"

#include <doctest/doctest.h>

#include <array>

using namespace fedhive;
using namespace fedhive::clients;

TEST_SUITE("Attention") {
    TEST_CASE("AttentionKeepsASequencesShapeAndHasPyTorchsParameters") {
        LayerList layers;
        layers.add("embedding", {6}).add("position").add("attention", {3}).add("layer_norm", {1}).add("last_position");
        const auto plan = plan_model(testing::listed_model(layers.add("linear"), ExampleShape{12, 1, 1, 7}));
        CHECK(plan[1].fit.out == Shape{12, 6});
        CHECK(plan[1].fit.parameters[0].name == "weight");
        CHECK(plan[1].fit.parameters[0].shape == Shape{12, 6});
        CHECK(plan[1].fit.flops == 12.0 * 6);
        CHECK(plan[2].fit.out == Shape{12, 6});
        std::vector<std::string> names;
        std::vector<Shape> shapes;
        for (const Parameter& parameter : plan[2].fit.parameters) {
            names.push_back(parameter.name);
            shapes.push_back(parameter.shape);
        }
        CHECK(names == std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"});
        CHECK(shapes == std::vector<Shape>{{18, 6}, {18}, {6, 6}, {6}});
        // Queries, keys and values with biases, the scaling of queries; per head (3) the 12 x 12 scores, three operations per
        // score, the weighted sum; the output projection.
        CHECK(plan[2].fit.flops ==
              12.0 * 2 * 6 * 18 + 12 * 6 + 3.0 * 144 * 2 * 2 + 3.0 * 144 * 3 + 3.0 * 144 * 2 * 2 + 12.0 * 2 * 6 * 6);
        CHECK(plan[3].fit.out == Shape{12, 6});
        CHECK(plan[3].fit.parameters[0].shape == Shape{6});
        CHECK(plan[4].fit.out == Shape{6});
        CHECK(plan[4].fit.parameters.empty());
        LayerList four;
        four.add("embedding", {6}).add("attention", {4}).add("flatten").add("linear");
        CHECK_THROWN_MESSAGE("models", "", LayerMisfit, plan_model(testing::listed_model(four, ExampleShape{12, 1, 1, 7})));
    }

    TEST_CASE("TransformerHasGpt2sParameters") {
        // Tables of tokens and positions; 12 D^2 + 13 D per block of D features; the final norm's 2 D; softmax.
        for (const auto& [dim, heads, blocks] : {std::array{64.0, 4.0, 2.0}, std::array{12.0, 3.0, 8.0}}) {
            const double expected = 65 * dim + 80 * dim + blocks * (12 * dim * dim + 13 * dim) + 2 * dim + (dim + 1) * 65;
            for (const TargetKind kind : {TargetKind::Class, TargetKind::ClassEach}) {
                const ModelSpec spec = named_model("char_transformer", {80, 1, 1, 65}, 65,
                                                   {{"width", static_cast<std::int64_t>(dim)},
                                                    {"heads", static_cast<std::int64_t>(heads)},
                                                    {"blocks", static_cast<std::int64_t>(blocks)}},
                                                   {kind, kind == TargetKind::Class ? 1U : 80U});
                CHECK(num_parameters(spec) == expected);
            }
        }
    }
}
