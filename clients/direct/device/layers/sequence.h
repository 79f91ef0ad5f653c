// Layers of a sequence, [positions][features] in a row: added vectors of positions, the last position, and the mean of all. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

/// y = x + w, a weight for each value.
struct PositionLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.out_at + i] = values[layer.in_at + i] + parameters[layer.weight + i];
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        for_each(threads, layer.in.size(), [&](std::uint32_t i) {
            float sum = to.sums[layer.weight + i];
            for (std::uint32_t r = 0; r < group.rows; ++r)
                sum += group.values[static_cast<std::size_t>(r) * group.row + layer.out_at + i];
            to.sums[layer.weight + i] = sum;
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.in_at + i] = values[layer.out_at + i];
        });
    }
};

/// The features of the last position. With two directions (groups), those of the second are taken at the first position, where it ends.
struct LastPositionLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.out_at + i] = values[layer.in_at + before(layer, i) + i];
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            const std::uint32_t feature = i % layer.out.size();
            values[layer.in_at + i] = i == before(layer, feature) + feature ? values[layer.out_at + feature] : 0.0F;
        });
    }

private:
    /// Values before those of the position that gives feature i.
    FEDHIVE_HOST_DEVICE static std::uint32_t before(const Layer& layer, std::uint32_t i) {
        return i < layer.out.size() / layer.groups ? layer.in.size() - layer.out.size() : 0;
    }
};

/// The mean of each feature over the positions.
struct MeanLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        const std::uint32_t features = layer.out.size();
        for_each_of_rows(threads, group, features, [&](float* values, std::uint32_t f, std::uint32_t) {
            float sum = 0.0F;
            for (std::uint32_t i = f; i < layer.in.size(); i += features) sum += values[layer.in_at + i];
            values[layer.out_at + f] = sum * share_of_position(layer);
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.in_at + i] = values[layer.out_at + i % layer.out.size()] * share_of_position(layer);
        });
    }

private:
    FEDHIVE_HOST_DEVICE static float share_of_position(const Layer& layer) {
        const std::uint32_t positions = layer.in.size() / layer.out.size();
        return 1.0F / static_cast<float>(positions);
    }
};

}  // namespace fedhive::clients::direct::device
