// Fully connected layer: y = x · wᵀ + b, weights in PyTorch's order [out][in]. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

struct LinearLayer : NoPasses {
    /// Neighbouring threads compute neighbouring rows, so that they read the same weight, and values in different banks of shared memory.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        const std::uint32_t inputs = layer.in.size(), outputs = layer.out.size();
        abreast(threads, group.rows * outputs, [&](auto wide) {
            constexpr std::uint32_t kWidth = decltype(wide)::width;
            for_each(threads, group.rows * ((outputs + kWidth - 1) / kWidth), [&](std::uint32_t e) {
                const std::uint32_t part = e / group.rows, o = part * kWidth;
                float* const values = group.values + static_cast<std::size_t>(e - part * group.rows) * group.row;
                const float* const x = values + layer.in_at;
                const float* w[kWidth];
                float sums[kWidth] = {};
                for (std::uint32_t k = 0; k < kWidth; ++k)
                    w[k] = parameters + layer.weight + static_cast<std::size_t>(at_most(o + k, outputs - 1)) * inputs;
                for (std::uint32_t i = 0; i < inputs; ++i)
                    for (std::uint32_t k = 0; k < kWidth; ++k) sums[k] = fused(x[i], w[k][i], sums[k]);
                for (std::uint32_t k = 0; k < kWidth && o + k < outputs; ++k)
                    values[layer.out_at + o + k] = sums[k] + parameters[layer.bias + o + k];
            });
        });
    }

    /// Neighbouring threads compute the gradients of neighbouring inputs, from the same outputs.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        float* const sums = to.sums;
        const std::uint32_t inputs = layer.in.size(), outputs = layer.out.size();
        abreast(threads, inputs * outputs, [&](auto wide) {
            constexpr std::uint32_t kWidth = decltype(wide)::width;
            for_each(threads, inputs * ((outputs + kWidth - 1) / kWidth), [&](std::uint32_t e) {
                const std::uint32_t o = e / inputs * kWidth, i = e % inputs;
                float* const at = sums + layer.weight + static_cast<std::size_t>(o) * inputs + i;
                float of[kWidth];
                for (std::uint32_t k = 0; k < kWidth; ++k) of[k] = at[(at_most(o + k, outputs - 1) - o) * inputs];
                const float* values = group.values;
                for (std::uint32_t r = 0; r < group.rows; ++r, values += group.row) {
                    const float x = values[layer.in_at + i];
                    for (std::uint32_t k = 0; k < kWidth; ++k)
                        of[k] = fused(values[layer.out_at + at_most(o + k, outputs - 1)], x, of[k]);
                }
                for (std::uint32_t k = 0; k < kWidth && o + k < outputs; ++k) at[k * inputs] = of[k];
            });
        });
        for_each(threads, outputs, [&](std::uint32_t o) {
            float sum = sums[layer.bias + o];
            for (std::uint32_t r = 0; r < group.rows; ++r)
                sum += group.values[static_cast<std::size_t>(r) * group.row + layer.out_at + o];
            sums[layer.bias + o] = sum;
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float* parameters) {
        const std::uint32_t inputs = layer.in.size(), outputs = layer.out.size();
        for_each_of_rows(threads, group, inputs, [&](float* values, std::uint32_t i, std::uint32_t) {
            const float *gradient = values + layer.out_at, *w = parameters + layer.weight + i;
            float sum = 0.0F;
            for (std::uint32_t o = 0; o < outputs; ++o, w += inputs) sum = fused(gradient[o], *w, sum);
            values[layer.in_at + i] = sum;
        });
    }
};

}  // namespace fedhive::clients::direct::device
