#include "clients/models/relu_max_pool.h"

#include "aggregation/base/clones.h"

#include <ATen/functorch/DynamicLayer.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

namespace fedhive::clients {

namespace {

constexpr std::uint8_t kNone = 4;  // no value in the window is above 0: no gradient

struct Larger {
    float value;
    std::uint8_t place;
};

/// LibTorch's rule: the later value wins only if it is larger or a NaN.
inline __attribute__((always_inline)) Larger larger(Larger first, Larger later) {
    const bool later_wins = (later.value > first.value) | (later.value != later.value);
    return {later_wins ? later.value : first.value, later_wins ? later.place : first.place};
}

/// Pools one image: pairs of columns of all rows first, in one long loop, then pairs of rows. `columns`,
/// `places`: room for half of the image.
FEDHIVE_CLONES void pool_image(const float* __restrict from, std::size_t height, std::size_t width, float* __restrict to,
                               std::uint8_t* __restrict chosen, float* __restrict columns, std::uint8_t* __restrict places) {
    const std::size_t half = width / 2;
    for (std::size_t i = 0; i < height * half; ++i) {
        const Larger pair = larger({from[2 * i], 0}, {from[2 * i + 1], 1});
        columns[i] = pair.value;
        places[i] = pair.place;
    }
    for (std::size_t row = 0; row < height / 2; ++row) {
        const std::size_t upper = 2 * row * half;
        const std::size_t lower = upper + half;
        for (std::size_t i = 0; i < half; ++i) {
            const Larger most = larger({columns[upper + i], places[upper + i]},
                                       {columns[lower + i], static_cast<std::uint8_t>(places[lower + i] + 2)});
            const bool nothing = most.value <= 0.0F;
            to[row * half + i] = nothing ? 0.0F : most.value;
            chosen[row * half + i] = nothing ? kNone : most.place;
        }
    }
}

FEDHIVE_CLONES void spread_image(const float* __restrict gradient, const std::uint8_t* __restrict chosen, std::size_t height,
                                 std::size_t width, float* __restrict to) {
    const std::size_t half = width / 2;
    for (std::size_t row = 0; row < height; ++row) {
        const auto first = static_cast<std::uint8_t>(row % 2 * 2);
        const float* __restrict values = gradient + row / 2 * half;
        const std::uint8_t* __restrict places = chosen + row / 2 * half;
        for (std::size_t i = 0; i < half; ++i) {
            to[2 * i] = places[i] == first ? values[i] : 0.0F;
            to[2 * i + 1] = places[i] == first + 1 ? values[i] : 0.0F;
        }
        to += width;
    }
}

struct ReluMaxPool : torch::autograd::Function<ReluMaxPool> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
        const auto height = static_cast<std::size_t>(x.size(2));
        const auto width = static_cast<std::size_t>(x.size(3));
        at::Tensor pooled = at::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2});
        at::Tensor chosen = at::empty(pooled.sizes(), at::kByte);
        std::vector<float> columns(height * width / 2);
        std::vector<std::uint8_t> places(columns.size());
        const std::size_t images = static_cast<std::size_t>(x.size(0) * x.size(1));
        for (std::size_t image = 0; image < images; ++image)
            pool_image(x.const_data_ptr<float>() + image * height * width, height, width,
                       pooled.data_ptr<float>() + image * columns.size() / 2,
                       chosen.data_ptr<std::uint8_t>() + image * columns.size() / 2, columns.data(), places.data());
        context->save_for_backward({chosen});
        return pooled;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        const at::Tensor chosen = context->get_saved_variables()[0];
        const at::Tensor gradient = gradients[0].contiguous();
        at::Tensor spread = at::empty({chosen.size(0), chosen.size(1), 2 * chosen.size(2), 2 * chosen.size(3)});
        const auto height = static_cast<std::size_t>(spread.size(2));
        const auto width = static_cast<std::size_t>(spread.size(3));
        const std::size_t images = static_cast<std::size_t>(spread.size(0) * spread.size(1));
        for (std::size_t image = 0; image < images; ++image)
            spread_image(gradient.const_data_ptr<float>() + image * height * width / 4,
                         chosen.const_data_ptr<std::uint8_t>() + image * height * width / 4, height, width,
                         spread.data_ptr<float>() + image * height * width);
        return {spread};
    }
};

}  // namespace

at::Tensor relu_max_pool(const at::Tensor& x) {
    const bool ours = x.device().is_cpu() && x.scalar_type() == at::kFloat && x.dim() == 4 && x.size(2) % 2 == 0 &&
                      x.size(3) % 2 == 0 && at::functorch::maybeCurrentDynamicLayer() == std::nullopt && x.is_contiguous();
    return ours ? ReluMaxPool::apply(x) : at::relu(at::max_pool2d(x, 2));
}

}  // namespace fedhive::clients
