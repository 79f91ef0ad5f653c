// Max and average pools; windows do not overlap. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

/// Index of the first value of an output's window in a channel-by-channel image.
FEDHIVE_HOST_DEVICE std::uint32_t window_of(const Layer& layer, std::uint32_t at) {
    const std::uint32_t pixels = layer.out.height * layer.out.width, c = at / pixels, pixel = at - c * pixels;
    return (c * layer.in.height + pixel / layer.out.width * layer.kernel) * layer.in.width +
           pixel % layer.out.width * layer.kernel;
}

/// argmax of the window that begins at `window`; the first of equal values, a NaN before all.
FEDHIVE_HOST_DEVICE std::uint32_t argmax_of(const Layer& layer, const float* x, std::uint32_t window) {
    std::uint32_t best = window;
    for (std::uint32_t i = 0; i < layer.kernel; ++i)
        for (std::uint32_t j = 0; j < layer.kernel; ++j) {
            const std::uint32_t at = window + i * layer.in.width + j;
            if (x[at] > x[best] || x[at] != x[at]) best = at;
        }
    return best;
}

FEDHIVE_HOST_DEVICE float share_of(const Layer& layer) { return 1.0F / static_cast<float>(layer.kernel * layer.kernel); }

template <bool kLargest>
struct PoolLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
            const float* const x = values + layer.in_at;
            const std::uint32_t window = window_of(layer, at);
            if constexpr (kLargest) {
                values[layer.out_at + at] = x[argmax_of(layer, x, window)];
            } else {
                float sum = 0.0F;
                for (std::uint32_t i = 0; i < layer.kernel; ++i)
                    for (std::uint32_t j = 0; j < layer.kernel; ++j) sum += x[window + i * layer.in.width + j];
                values[layer.out_at + at] = sum * share_of(layer);
            }
        });
    }

    /// One thread per window. A second loop sets the gradient of pixels outside all windows to 0.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        const float share = share_of(layer);
        const std::uint32_t width = layer.in.width, height = layer.in.height;
        for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
            float* const x = values + layer.in_at;
            const float gradient = values[layer.out_at + at];
            const std::uint32_t window = window_of(layer, at), best = kLargest ? argmax_of(layer, x, window) : 0;
            for (std::uint32_t i = 0; i < layer.kernel; ++i)
                for (std::uint32_t j = 0; j < layer.kernel; ++j) x[window + i * width + j] = kLargest ? 0.0F : gradient * share;
            if (kLargest) x[best] = gradient;
        });
        const std::uint32_t right = layer.out.width * layer.kernel, bottom = layer.out.height * layer.kernel;
        if (right == width && bottom == height) return;
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
            if (at % width >= right || at / width % height >= bottom) values[layer.in_at + at] = 0.0F;
        });
    }
};

using MaxPoolLayer = PoolLayer<true>;
using AveragePoolLayer = PoolLayer<false>;

}  // namespace fedhive::clients::direct::device
