// Channel shuffle: the channels of each image in another order. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

/// y[j · groups + i] = x[i · size + j], channels by channels.
struct ChannelShuffleLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t to, std::uint32_t) {
            values[layer.out_at + to] = values[layer.in_at + source_of(layer, to)];
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t to, std::uint32_t) {
            values[layer.in_at + source_of(layer, to)] = values[layer.out_at + to];
        });
    }

private:
    FEDHIVE_HOST_DEVICE static std::uint32_t source_of(const Layer& layer, std::uint32_t to) {
        const std::uint32_t pixels = layer.in.height * layer.in.width, size = layer.in.channels / layer.groups;
        const std::uint32_t channel = to / pixels;
        return (channel % layer.groups * size + channel / layer.groups) * pixels + to % pixels;
    }
};

}  // namespace fedhive::clients::direct::device
