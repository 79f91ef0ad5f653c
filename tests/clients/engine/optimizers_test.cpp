// Client optimisers against PyTorch's, step by step.
#include "aggregation/math/client_optimizer.h"
#include "tests/aggregation/spans.h"

#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

using namespace fedhive;
using aggregation::AdagradOptions;
using aggregation::AdamOptions;
using aggregation::ClientOptimizer;
using aggregation::MemorySpace;
using aggregation::OptimizerOptions;
using aggregation::SgdOptions;

namespace {

constexpr std::size_t kSize = 1000;
constexpr int kSteps = 30;

at::Tensor tensor_of(std::vector<float>& values) {
    return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

/// Both take the same gradients; `theirs` is called with parameters, gradient, two states and the step number from 1.
template <typename Theirs>
void is_pytorchs(const OptimizerOptions& options, Theirs theirs) {
    std::vector<float> ours = aggregation::testing::random_floats(kSize, 1), reference = ours;
    ClientOptimizer optimizer(options, kSize, MemorySpace::Host);
    optimizer.begin();
    std::vector<at::Tensor> parameters{tensor_of(reference)}, first{at::zeros({kSize})}, second{at::zeros({kSize})};
    for (int step = 1; step <= kSteps; ++step) {
        std::vector<float> gradient = aggregation::testing::random_floats(kSize, 1 + static_cast<std::uint32_t>(step));
        optimizer.begin_step();
        optimizer.step(ours, gradient);
        std::vector<at::Tensor> gradients{tensor_of(gradient)}, steps{at::full({}, static_cast<float>(step))};
        theirs(parameters, gradients, first, second, steps);
    }
    for (std::size_t i = 0; i < kSize; ++i) REQUIRE(ours[i] == doctest::Approx(reference[i]).epsilon(1e-4));
}

using Tensors = std::vector<at::Tensor>;

}  // namespace

TEST_SUITE("ClientOptimizers") {
    TEST_CASE("AdamIsPytorchs") {
        is_pytorchs(AdamOptions{.lr = 0.01F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 1e-6F, .weight_decay = 0.1F},
                    [](Tensors& parameters, Tensors& gradients, Tensors& m, Tensors& v, Tensors& steps) {
                        at::_fused_adam_(parameters, gradients, m, v, {}, steps, 0.01, 0.8, 0.95, 0.1, 1e-6, false, false);
                    });
    }

    TEST_CASE("AdamWIsPytorchs") {
        is_pytorchs(
            AdamOptions{.lr = 0.01F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 1e-6F, .weight_decay = 0.1F, .decoupled = true},
            [](Tensors& parameters, Tensors& gradients, Tensors& m, Tensors& v, Tensors& steps) {
                at::_fused_adamw_(parameters, gradients, m, v, {}, steps, 0.01, 0.8, 0.95, 0.1, 1e-6, false, false);
            });
    }

    TEST_CASE("AdagradIsPytorchs") {
        is_pytorchs(AdagradOptions{.lr = 0.01F, .weight_decay = 0.1F, .epsilon = 1e-6F},
                    [](Tensors& parameters, Tensors& gradients, Tensors& sum, Tensors&, Tensors& steps) {
                        at::_fused_adagrad_(parameters, gradients, sum, steps, 0.01, 0.0, 0.1, 1e-6, false);
                    });
    }

    TEST_CASE("WhatEachKeepsAndThatItBeginsAnew") {
        CHECK(num_state_vectors(SgdOptions{}) == 0);
        CHECK(num_state_vectors(SgdOptions{.momentum = 0.5F}) == 1);
        CHECK(num_state_vectors(AdagradOptions{}) == 1);
        CHECK(num_state_vectors(AdamOptions{}) == 2);
        for (const OptimizerOptions& options : {OptimizerOptions(AdamOptions{}), OptimizerOptions(AdagradOptions{}),
                                                OptimizerOptions(SgdOptions{.momentum = 0.5F})}) {
            const std::vector<float> gradient = aggregation::testing::random_floats(kSize, 2);
            std::vector<float> once = aggregation::testing::random_floats(kSize, 1), again = once;
            ClientOptimizer optimizer(options, kSize, MemorySpace::Host);
            for (std::vector<float>* parameters : {&once, &again}) {
                optimizer.begin();
                optimizer.begin_step();
                optimizer.step(*parameters, gradient);
            }
            CHECK(once == again);
            std::vector<float> longer(kSize + 1);
            CHECK_THROWS_AS(optimizer.step(longer, longer), Fault);
            optimizer.begin();
            CHECK_THROWS_AS(optimizer.step(once, gradient), Fault);
        }
    }
}
