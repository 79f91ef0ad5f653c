// Convolution of images stored channel by channel. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

struct ConvolutionLayer : NoPasses {
    /// A thread computes several channels together, since they read the same pixels.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        const Extent in = layer.in, out = layer.out;
        const std::uint32_t kernel = layer.kernel, taps = in.channels * kernel * kernel, pixels = out.height * out.width;
        abreast(threads, group.rows * out.size(), [&](auto wide) {
            constexpr std::uint32_t kWidth = decltype(wide)::width;
            const std::uint32_t parts = (out.channels + kWidth - 1) / kWidth;
            for_each_of_rows(threads, group, parts * pixels, [&](float* values, std::uint32_t at, std::uint32_t) {
                const std::uint32_t o = at / pixels * kWidth, pixel = at % pixels;
                // Unsigned on purpose: a negative coordinate wraps to one far outside the image.
                const std::uint32_t top = pixel / out.width * layer.stride - layer.padding;
                const std::uint32_t left = pixel % out.width * layer.stride - layer.padding;
                const float* w[kWidth];
                float sums[kWidth] = {};
                for (std::uint32_t k = 0; k < kWidth; ++k)
                    w[k] = parameters + layer.weight + static_cast<std::size_t>(at_most(o + k, out.channels - 1)) * taps;
                for (std::uint32_t c = 0, tap = 0; c < in.channels; ++c)
                    for (std::uint32_t i = 0; i < kernel; ++i, tap += kernel) {
                        if (top + i >= in.height) continue;
                        const float* const x = values + layer.in_at + (c * in.height + top + i) * in.width;
                        for (std::uint32_t j = 0; j < kernel; ++j) {
                            if (left + j >= in.width) continue;
                            for (std::uint32_t k = 0; k < kWidth; ++k) sums[k] = fused(x[left + j], w[k][tap + j], sums[k]);
                        }
                    }
                for (std::uint32_t k = 0; k < kWidth && o + k < out.channels; ++k)
                    values[layer.out_at + (o + k) * pixels + pixel] =
                        layer.biased != 0 ? sums[k] + parameters[layer.bias + o + k] : sums[k];
            });
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        float* const sums = to.sums;
        const Extent in = layer.in, out = layer.out;
        const std::uint32_t kernel = layer.kernel, square = kernel * kernel, taps = in.channels * square,
                            pixels = out.height * out.width;
        abreast(threads, out.channels * taps, [&](auto wide) {
            constexpr std::uint32_t kWidth = decltype(wide)::width;
            for_each(threads, (out.channels + kWidth - 1) / kWidth * taps, [&](std::uint32_t e) {
                const std::uint32_t o = e / taps * kWidth, tap = e % taps;
                const std::uint32_t c = tap / square, i = tap % square / kernel, j = tap % kernel;
                float* const at = sums + layer.weight + static_cast<std::size_t>(o) * taps + tap;
                std::uint32_t channel[kWidth];
                float of[kWidth];
                for (std::uint32_t k = 0; k < kWidth; ++k) {
                    channel[k] = at_most(o + k, out.channels - 1);
                    of[k] = at[(channel[k] - o) * taps];
                }
                for (std::uint32_t r = 0; r < group.rows; ++r) {
                    const float* const values = group.values + static_cast<std::size_t>(r) * group.row;
                    for (std::uint32_t y = 0; y < out.height; ++y) {
                        const std::uint32_t from_y = y * layer.stride + i - layer.padding;
                        if (from_y >= in.height) continue;
                        const float* const x = values + layer.in_at + (c * in.height + from_y) * in.width;
                        const float* const gradient = values + layer.out_at + y * out.width;
                        for (std::uint32_t p = 0; p < out.width; ++p) {
                            const std::uint32_t from_x = p * layer.stride + j - layer.padding;
                            if (from_x >= in.width) continue;
                            for (std::uint32_t k = 0; k < kWidth; ++k)
                                of[k] = fused(gradient[channel[k] * pixels + p], x[from_x], of[k]);
                        }
                    }
                }
                for (std::uint32_t k = 0; k < kWidth && o + k < out.channels; ++k) at[k * taps] = of[k];
            });
        });
        if (layer.biased == 0) return;
        for_each(threads, out.channels, [&](std::uint32_t o) {
            float sum = sums[layer.bias + o];
            for (std::uint32_t r = 0; r < group.rows; ++r) {
                const float* const gradient =
                    group.values + static_cast<std::size_t>(r) * group.row + layer.out_at + o * pixels;
                for (std::uint32_t p = 0; p < pixels; ++p) sum += gradient[p];
            }
            sums[layer.bias + o] = sum;
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float* parameters) {
        const Extent in = layer.in, out = layer.out;
        const std::uint32_t kernel = layer.kernel, square = kernel * kernel, pixels = in.height * in.width;
        for_each_of_rows(threads, group, in.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
            const std::uint32_t c = at / pixels, y = at % pixels / in.width + layer.padding, x = at % in.width + layer.padding;
            const float *gradient = values + layer.out_at, *w = parameters + layer.weight + c * square;
            float sum = 0.0F;
            for (std::uint32_t o = 0; o < out.channels; ++o, gradient += out.height * out.width, w += in.channels * square)
                for (std::uint32_t i = 0; i < kernel && i <= y; ++i) {
                    const std::uint32_t of_y = (y - i) / layer.stride;
                    if (of_y >= out.height || of_y * layer.stride != y - i) continue;
                    for (std::uint32_t j = 0; j < kernel && j <= x; ++j) {
                        const std::uint32_t of_x = (x - j) / layer.stride;
                        if (of_x < out.width && of_x * layer.stride == x - j)
                            sum = fused(gradient[of_y * out.width + of_x], w[i * kernel + j], sum);
                    }
                }
            values[layer.in_at + at] = sum;
        });
    }
};

}  // namespace fedhive::clients::direct::device
