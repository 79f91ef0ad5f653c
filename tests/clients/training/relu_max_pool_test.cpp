#include "clients/models/relu_max_pool.h"

#include <torch/torch.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using fedhive::clients::relu_max_pool;

namespace {

struct Pooled {
    torch::Tensor values;
    torch::Tensor gradient;  // of the input
};

template <typename Pool>
Pooled run(const torch::Tensor& input, Pool pool) {
    const torch::Tensor x = input.clone(at::MemoryFormat::Preserve).set_requires_grad(true);
    const torch::Tensor y = pool(x);
    torch::manual_seed(3);
    y.backward(torch::randn(y.sizes()));
    return {y.detach(), x.grad()};
}

/// Bits, so that NaN equals NaN and 0 is not -0.
bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
    return a.sizes() == b.sizes() && a.contiguous().view(torch::kInt32).equal(b.contiguous().view(torch::kInt32));
}

void check_as_libtorch(const torch::Tensor& input) {
    CAPTURE(input.sizes());
    const Pooled ours = run(input, [](const torch::Tensor& x) { return relu_max_pool(x); });
    const Pooled after = run(input, [](const torch::Tensor& x) { return torch::relu(torch::max_pool2d(x, 2)); });
    const Pooled before = run(input, [](const torch::Tensor& x) { return torch::max_pool2d(torch::relu(x), 2); });
    CHECK(same_bits(ours.values, after.values));
    CHECK(same_bits(ours.gradient.abs(), after.gradient.abs()));  // LibTorch's zeros carry signs here and there
    CHECK(same_bits(ours.values, before.values));
    CHECK(ours.gradient.equal(before.gradient));
}

bool is_ours(const torch::Tensor& input) {
    return relu_max_pool(input.clone(at::MemoryFormat::Preserve).set_requires_grad(true))
               .grad_fn()
               ->name()
               .find("ReluMaxPool") != std::string::npos;
}

}  // namespace

TEST_SUITE("ReluMaxPool") {
    TEST_CASE("ValuesAndGradientsAreThoseOfLibtorch") {
        torch::manual_seed(1);
        const std::vector<std::vector<std::int64_t>> shapes{
            {1, 1, 2, 2}, {3, 10, 24, 24}, {2, 20, 8, 8}, {2, 4, 6, 34}, {1, 3, 2, 70}};
        for (const std::vector<std::int64_t>& sizes : shapes) {
            REQUIRE(is_ours(torch::randn(sizes)));
            check_as_libtorch(torch::randn(sizes));
        }
    }

    TEST_CASE("OfEqualValuesTheFirstOneGetsTheGradient") {
        torch::manual_seed(2);
        check_as_libtorch(torch::randint(-1, 3, {4, 4, 12, 12}).to(torch::kFloat32));
    }

    TEST_CASE("WhatIsNotAboveZeroGetsNone") {
        const Pooled ours = run(-torch::rand({2, 2, 4, 4}), [](const torch::Tensor& x) { return relu_max_pool(x); });
        CHECK(ours.values.abs().sum().item<float>() == 0.0F);
        CHECK(ours.gradient.abs().sum().item<float>() == 0.0F);
    }

    TEST_CASE("NanAndInfinityAreNotLost") {
        for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
            for (std::int64_t place = 0; place < 4; ++place) {
                torch::Tensor input = torch::ones({1, 1, 2, 2});
                input.view({4})[place] = value;
                REQUIRE(is_ours(input));
                CHECK(same_bits(relu_max_pool(input), torch::relu(torch::max_pool2d(input, 2))));
                CHECK(run(input, [](const torch::Tensor& x) { return relu_max_pool(x); })
                          .gradient.view({4})[place]
                          .item<float>() != 0.0F);
            }
        }
    }

    TEST_CASE("OtherShapesAndTypesGoLibtorchsWay") {
        for (const torch::Tensor& input :
             {torch::randn({2, 3, 5, 8}), torch::randn({2, 3, 8, 5}), torch::randn({2, 3, 8, 8}, torch::kFloat64),
              torch::randn({2, 3, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast)}) {
            CHECK_FALSE(is_ours(input));
            const Pooled ours = run(input, [](const torch::Tensor& x) { return relu_max_pool(x); });
            const Pooled theirs = run(input, [](const torch::Tensor& x) { return torch::relu(torch::max_pool2d(x, 2)); });
            CHECK(ours.values.equal(theirs.values));
            CHECK(ours.gradient.equal(theirs.gradient));
        }
    }
}
