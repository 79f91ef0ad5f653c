// Layers of single values: ReLU, tanh, GELU, scale, dropout. C++17.
#pragma once

#include "clients/direct/device/layers.h"
#include "clients/direct/shared_rules.h"

namespace fedhive::clients::direct::device {

/// y = Function::value(…, x) and dx = Function::gradient(…, x, dy) for each value.
template <typename Function>
struct ValueLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t row) {
            values[layer.out_at + i] = Function::value(layer, group, row, i, values[layer.in_at + i]);
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t row) {
            values[layer.in_at + i] =
                Function::gradient(layer, group, row, i, values[layer.in_at + i], values[layer.out_at + i]);
        });
    }
};

struct ReluFunction {
    FEDHIVE_HOST_DEVICE static float value(const Layer&, const RowGroup&, std::uint32_t, std::uint32_t, float x) {
        return cut_off(x);
    }
    FEDHIVE_HOST_DEVICE static float gradient(const Layer&, const RowGroup&, std::uint32_t, std::uint32_t, float x, float dy) {
        return x <= 0.0F ? 0.0F : dy;
    }
};

struct TanhFunction {
    FEDHIVE_HOST_DEVICE static float value(const Layer&, const RowGroup&, std::uint32_t, std::uint32_t, float x) {
        return tangent(x);
    }
    FEDHIVE_HOST_DEVICE static float gradient(const Layer&, const RowGroup&, std::uint32_t, std::uint32_t, float x, float dy) {
        const float y = tangent(x);
        return dy * (1.0F - y * y);
    }
};

struct GeluFunction {
    FEDHIVE_HOST_DEVICE static float value(const Layer&, const RowGroup&, std::uint32_t, std::uint32_t, float x) {
        return x * normal(x).below;
    }
    FEDHIVE_HOST_DEVICE static float gradient(const Layer&, const RowGroup&, std::uint32_t, std::uint32_t, float x, float dy) {
        const Normal of = normal(x);
        return dy * fused(x * 0.398942280F, of.bell, of.below);
    }
};

struct ScaleFunction {
    FEDHIVE_HOST_DEVICE static float value(const Layer& layer, const RowGroup&, std::uint32_t, std::uint32_t, float x) {
        return x * layer.keep_scale;
    }
    FEDHIVE_HOST_DEVICE static float gradient(const Layer& layer, const RowGroup&, std::uint32_t, std::uint32_t, float,
                                              float dy) {
        return dy * layer.keep_scale;
    }
};

/// A dropped value is 0, even if it was NaN or infinite.
FEDHIVE_HOST_DEVICE float scaled(float value, float scale) { return scale == 0.0F ? 0.0F : value * scale; }

/// The dropout factor of a value, by its number in the batch: 0 or 1 / (1 - p), 1 outside training.
FEDHIVE_HOST_DEVICE float kept_value(const Layer& layer, const RowGroup& group, std::uint32_t number) {
    if (!group.training) return 1.0F;
    const std::uint64_t key = shared::dropout_key(group.dropout_key, layer.drop_number);
    return shared::drawn_bits(number, key) < layer.drop_below ? 0.0F : layer.keep_scale;
}

template <bool kWholeChannels>
struct DropoutFunction {
    /// Values are numbered as in the host engine, which stores images pixel by pixel.
    FEDHIVE_HOST_DEVICE static float kept(const Layer& layer, const RowGroup& group, std::uint32_t row, std::uint32_t at) {
        const std::uint32_t channels = layer.in.channels, pixels = layer.in.height * layer.in.width, c = at / pixels;
        const std::uint32_t of_row = kWholeChannels ? c : at % pixels * channels + c;
        const std::uint32_t each = kWholeChannels ? channels : layer.in.size();
        return kept_value(layer, group, (group.first + row) * each + of_row);
    }
    FEDHIVE_HOST_DEVICE static float value(const Layer& layer, const RowGroup& group, std::uint32_t row, std::uint32_t i,
                                           float x) {
        return scaled(x, kept(layer, group, row, i));
    }
    FEDHIVE_HOST_DEVICE static float gradient(const Layer& layer, const RowGroup& group, std::uint32_t row, std::uint32_t i,
                                              float, float dy) {
        return scaled(dy, kept(layer, group, row, i));
    }
};

using ReluLayer = ValueLayer<ReluFunction>;
using TanhLayer = ValueLayer<TanhFunction>;
using GeluLayer = ValueLayer<GeluFunction>;
using ScaleLayer = ValueLayer<ScaleFunction>;
using DropoutLayer = ValueLayer<DropoutFunction<false>>;
using ChannelDropoutLayer = ValueLayer<DropoutFunction<true>>;

}  // namespace fedhive::clients::direct::device
