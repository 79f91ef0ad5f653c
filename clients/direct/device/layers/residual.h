// The parts of a residual connection, y = path(x) + x or path(x) + shortcut(x): where its paths begin, and their sum. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

/// The begin of both paths. Backward adds the input's gradient from the second path, which is at other_at.
struct ResidualBeginLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.in_at + i] += values[layer.other_at + i];
        });
    }
};

/// The begin of a shortcut with layers: a copy of the residual's input, whose gradient ResidualBeginLayer adds.
struct ShortcutBeginLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.out_at + i] = values[layer.in_at + i];
        });
    }
};

template <bool kOfShortcut>
struct SumLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.out_at + i] = values[layer.in_at + i] + values[layer.other_at + i];
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.in_at + i] = values[layer.out_at + i];
            if constexpr (kOfShortcut) values[layer.other_at + i] = values[layer.out_at + i];
        });
    }
};

using ResidualSumLayer = SumLayer<false>;
using ShortcutSumLayer = SumLayer<true>;  // both terms have layers before them

}  // namespace fedhive::clients::direct::device
