// Fully connected layer of a row, or of each position of a sequence: y = x · wᵀ + b, weights in PyTorch's order [out][in]. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

struct LinearLayer : NoPasses {
    /// Neighbouring threads compute neighbouring rows, so that they read the same weight, and values in different banks of shared memory.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        const std::uint32_t positions = layer.positions, inputs = layer.in.size() / positions,
                            outputs = layer.out.size() / positions, vectors = group.rows * positions;
        abreast(threads, vectors * outputs, [&](auto wide) {
            constexpr std::uint32_t kWidth = decltype(wide)::width;
            for_each(threads, vectors * ((outputs + kWidth - 1) / kWidth), [&](std::uint32_t e) {
                const std::uint32_t part = e / vectors, o = part * kWidth, vector = e - part * vectors;
                const std::uint32_t position = vector / group.rows, r = vector - position * group.rows;
                float* const values = group.values + static_cast<std::size_t>(r) * group.row;
                const float* const x = values + layer.in_at + position * inputs;
                const float* w[kWidth];
                float sums[kWidth] = {};
                for (std::uint32_t k = 0; k < kWidth; ++k)
                    w[k] = parameters + layer.weight + static_cast<std::size_t>(at_most(o + k, outputs - 1)) * inputs;
                for (std::uint32_t i = 0; i < inputs; ++i)
                    for (std::uint32_t k = 0; k < kWidth; ++k) sums[k] = fused(x[i], w[k][i], sums[k]);
                float* const y = values + layer.out_at + position * outputs;
                for (std::uint32_t k = 0; k < kWidth && o + k < outputs; ++k)
                    y[o + k] = layer.biased != 0 ? sums[k] + parameters[layer.bias + o + k] : sums[k];
            });
        });
    }

    /// Neighbouring threads compute the gradients of neighbouring inputs, from the same outputs.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        float* const sums = to.sums;
        const std::uint32_t positions = layer.positions, inputs = layer.in.size() / positions,
                            outputs = layer.out.size() / positions;
        abreast(threads, inputs * outputs, [&](auto wide) {
            constexpr std::uint32_t kWidth = decltype(wide)::width;
            for_each(threads, inputs * ((outputs + kWidth - 1) / kWidth), [&](std::uint32_t e) {
                const std::uint32_t o = e / inputs * kWidth, i = e % inputs;
                float* const at = sums + layer.weight + static_cast<std::size_t>(o) * inputs + i;
                float of[kWidth];
                for (std::uint32_t k = 0; k < kWidth; ++k) of[k] = at[(at_most(o + k, outputs - 1) - o) * inputs];
                const float* values = group.values;
                for (std::uint32_t r = 0; r < group.rows; ++r, values += group.row)
                    for (std::uint32_t position = 0; position < positions; ++position) {
                        const float x = values[layer.in_at + position * inputs + i];
                        const float* const gradient = values + layer.out_at + position * outputs;
                        for (std::uint32_t k = 0; k < kWidth; ++k)
                            of[k] = fused(gradient[at_most(o + k, outputs - 1)], x, of[k]);
                    }
                for (std::uint32_t k = 0; k < kWidth && o + k < outputs; ++k) at[k * inputs] = of[k];
            });
        });
        if (layer.biased == 0) return;
        for_each(threads, outputs, [&](std::uint32_t o) {
            float sum = sums[layer.bias + o];
            for (std::uint32_t r = 0; r < group.rows; ++r)
                for (std::uint32_t position = 0; position < positions; ++position)
                    sum += group.values[static_cast<std::size_t>(r) * group.row + layer.out_at + position * outputs + o];
            sums[layer.bias + o] = sum;
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float* parameters) {
        const std::uint32_t positions = layer.positions, inputs = layer.in.size() / positions,
                            outputs = layer.out.size() / positions;
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            const std::uint32_t position = i / inputs;
            const float *gradient = values + layer.out_at + position * outputs,
                        *w = parameters + layer.weight + i - position * inputs;
            float sum = 0.0F;
            for (std::uint32_t o = 0; o < outputs; ++o, w += inputs) sum = fused(gradient[o], *w, sum);
            values[layer.in_at + i] = sum;
        });
    }
};

}  // namespace fedhive::clients::direct::device
