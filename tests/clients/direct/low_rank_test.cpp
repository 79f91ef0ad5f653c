// Low-rank factors beside frozen layers: what a step multiplies, and the two forms in which factors are written.
#include "clients/direct/network.h"
#include "tests/clients/direct/network_case.h"
#include "tests/clients/direct/networks.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using fedhive::testing::listed_model;
using fedhive::testing::NetworkCase;

namespace {

std::size_t products = 0;  // multiply-adds of Gemm since it was set to 0

/// This processor's kernels, which count.
direct::Kernels counting_kernels() {
    direct::Kernels counting = direct::kernels();
    counting.gemm = [](const direct::Gemm& t) {
        products += t.rows * t.columns * t.outer * t.inner;
        direct::kernels().gemm(t);
    };
    return counting;
}

}  // namespace

TEST_SUITE("LowRank") {
    TEST_CASE("AStepBesideFrozenLayersMultipliesForNoGradientThatNobodySteps") {
        LayerList layers;
        layers.add("embedding", {6, 0}).add("linear", {8}).add("tanh").add("linear", {7, 1, 2}).add("tanh");
        layers.add("last_position").add("linear", {9}).add("tanh").add("linear");
        ModelSpec spec = listed_model(layers, testing::kTokens, 5);
        const NetworkCase whole(spec);
        spec.frozen = NamePatterns::of({"*.weight", "*.bias"});
        const aggregation::Layout layout = model_layout(spec), kept = frozen_layout(spec);
        REQUIRE(layout.entries().size() == 2);
        const direct::Kernels counting = counting_kernels();
        const std::vector<float> frozen(kept.num_floats(), 0.1F);
        direct::Network network(spec, counting, frozen);
        const std::vector<float> parameters(layout.num_floats(), 0.1F);
        std::vector<float> gradient(layout.num_trainable());
        products = 0;
        network.train(parameters.data(), gradient.data(), whole.batch(), 1);
        constexpr std::size_t rows = NetworkCase::kBatch, positions = rows * 6;
        const std::size_t forward = positions * (6 * 8 + 8 * 7 + 8 * 2 + 2 * 7);
        const std::size_t to_inputs = rows * (5 * 9 + 9 * 7) + positions * 7 * 2;  // of the head and of B alone
        const std::size_t to_factors = positions * (2 * 7 + 8 * 2);
        CHECK(products == forward + to_inputs + to_factors);
    }

    TEST_CASE("FactorsOnAResidualsOtherPathHaveTheBitsOfThoseByKey") {
        for (const bool sequence : {false, true})
            for (const bool first : {false, true}) {
                LayerList by_key, by_paths;
                for (LayerList* each : {&by_key, &by_paths}) sequence ? each->add("embedding", {6, 0}) : each->add("flatten");
                by_key.add("linear", {20, 1, 3, 6}).add("relu");
                by_paths.add("residual");
                if (first) by_paths.add("linear", {20}).shortcut();
                by_paths.add("linear", {3, 0}).add("linear", {20, 0}).add("scale", {2});
                if (!first) by_paths.shortcut().add("linear", {20});
                by_paths.end().add("relu");
                for (LayerList* each : {&by_key, &by_paths}) (sequence ? each->add("last_position") : *each).add("linear");
                const ExampleShape input = sequence ? testing::kTokens : testing::kInput;
                const ModelSpec of_paths = listed_model(by_paths, input, 5);
                NetworkCase key(listed_model(by_key, input, 5)), paths(of_paths);
                const auto& to = paths.network.layout().entries();
                const auto& from = key.network.layout().entries();
                REQUIRE(to.size() == from.size());
                // Weight, bias, A and B, which stand before or behind the others.
                const auto place = [&](std::size_t i) {
                    return first || i < to.size() - 6 || i > to.size() - 3 ? i : to.size() - 6 + (i - (to.size() - 6) + 2) % 4;
                };
                for (std::size_t i = 0; i < from.size(); ++i) {
                    const auto& target = to[place(i)];
                    REQUIRE(target.shape == from[i].shape);
                    std::copy_n(key.parameters.begin() + static_cast<std::ptrdiff_t>(from[i].offset), from[i].size,
                                paths.parameters.begin() + static_cast<std::ptrdiff_t>(target.offset));
                }
                CHECK(key.loss() == paths.loss());
                for (std::size_t i = 0; i < from.size(); ++i)
                    CHECK(std::equal(key.gradient.begin() + static_cast<std::ptrdiff_t>(from[i].offset),
                                     key.gradient.begin() + static_cast<std::ptrdiff_t>(from[i].offset + from[i].size),
                                     paths.gradient.begin() + static_cast<std::ptrdiff_t>(to[place(i)].offset)));
            }
    }
}
