#include "clients/models/relu_max_pool.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using fedhive::clients::relu_max_pool;

namespace {

struct Pooled {
    at::Tensor values;
    at::Tensor gradient;  // of the input
};

template <typename Pool>
Pooled run(const at::Tensor& input, Pool pool) {
    const at::Tensor x = input.clone(at::MemoryFormat::Preserve).set_requires_grad(true);
    const at::Tensor y = pool(x);
    at::manual_seed(3);
    y.backward(at::randn(y.sizes()));
    return {y.detach(), x.grad()};
}

/// Bitwise equality: NaN equals NaN, 0 differs from -0.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.contiguous().view(at::kInt).equal(b.contiguous().view(at::kInt));
}

void check_as_libtorch(const at::Tensor& input) {
    CAPTURE(input.sizes());
    const Pooled ours = run(input, [](const at::Tensor& x) { return relu_max_pool(x); });
    const Pooled after = run(input, [](const at::Tensor& x) { return at::relu(at::max_pool2d(x, 2)); });
    const Pooled before = run(input, [](const at::Tensor& x) { return at::max_pool2d(at::relu(x), 2); });
    CHECK(same_bits(ours.values, after.values));
    CHECK(same_bits(ours.gradient.abs(), after.gradient.abs()));  // LibTorch's zeros are sometimes negative
    CHECK(same_bits(ours.values, before.values));
    CHECK(ours.gradient.equal(before.gradient));
}

bool is_ours(const at::Tensor& input) {
    return relu_max_pool(input.clone(at::MemoryFormat::Preserve).set_requires_grad(true))
               .grad_fn()
               ->name()
               .find("ReluMaxPool") != std::string::npos;
}

}  // namespace

TEST_SUITE("ReluMaxPool") {
    TEST_CASE("ValuesAndGradientsAreThoseOfLibtorch") {
        at::manual_seed(1);
        const std::vector<std::vector<std::int64_t>> shapes{
            {1, 1, 2, 2}, {3, 10, 24, 24}, {2, 20, 8, 8}, {2, 4, 6, 34}, {1, 3, 2, 70}};
        for (const std::vector<std::int64_t>& sizes : shapes) {
            REQUIRE(is_ours(at::randn(sizes)));
            check_as_libtorch(at::randn(sizes));
        }
    }

    TEST_CASE("OfEqualValuesTheFirstOneGetsTheGradient") {
        at::manual_seed(2);
        check_as_libtorch(at::randint(-1, 3, {4, 4, 12, 12}).to(at::kFloat));
    }

    TEST_CASE("WhatIsNotAboveZeroGetsNone") {
        const Pooled ours = run(-at::rand({2, 2, 4, 4}), [](const at::Tensor& x) { return relu_max_pool(x); });
        CHECK(ours.values.abs().sum().item<float>() == 0.0F);
        CHECK(ours.gradient.abs().sum().item<float>() == 0.0F);
    }

    TEST_CASE("NanAndInfinityAreNotLost") {
        for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
            for (std::int64_t place = 0; place < 4; ++place) {
                at::Tensor input = at::ones({1, 1, 2, 2});
                input.view({4})[place] = value;
                REQUIRE(is_ours(input));
                CHECK(same_bits(relu_max_pool(input), at::relu(at::max_pool2d(input, 2))));
                CHECK(
                    run(input, [](const at::Tensor& x) { return relu_max_pool(x); }).gradient.view({4})[place].item<float>() !=
                    0.0F);
            }
        }
    }

    TEST_CASE("OtherShapesAndTypesGoLibtorchsWay") {
        for (const at::Tensor& input : {at::randn({2, 3, 5, 8}), at::randn({2, 3, 8, 5}), at::randn({2, 3, 8, 8}, at::kDouble),
                                        at::randn({2, 3, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast)}) {
            CHECK_FALSE(is_ours(input));
            const Pooled ours = run(input, [](const at::Tensor& x) { return relu_max_pool(x); });
            const Pooled theirs = run(input, [](const at::Tensor& x) { return at::relu(at::max_pool2d(x, 2)); });
            CHECK(ours.values.equal(theirs.values));
            CHECK(ours.gradient.equal(theirs.gradient));
        }
    }
}
