// Group and layer norm, with sums in double. C++17.
#pragma once

#include "clients/direct/device/layers.h"
#include "clients/direct/shared_rules.h"

namespace fedhive::clients::direct::device {

/// The four floats kept for group g: from forward, mean and 1 / deviation; from backward, the gradient's mean and its component along the
/// values.
FEDHIVE_HOST_DEVICE float* norm_figures(const Layer& layer, float* values, std::uint32_t g) {
    return values + layer.other_at + static_cast<std::size_t>(4) * g;
}

FEDHIVE_HOST_DEVICE std::uint32_t scale_of(const Layer& layer, std::uint32_t at) {
    return layer.by_value != 0 ? at % (layer.in.size() / layer.positions) : at / (layer.in.height * layer.in.width);
}

struct NormLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        const std::uint32_t size = layer.in.size() / layer.groups;
        for_each_of_rows(threads, group, layer.groups, [&](float* values, std::uint32_t g, std::uint32_t) {
            const float* const x = values + layer.in_at + static_cast<std::size_t>(g) * size;
            double sum = 0.0, squares = 0.0;
            for (std::uint32_t i = 0; i < size; ++i) sum += static_cast<double>(x[i]);
            const double mean = sum / size;
            for (std::uint32_t i = 0; i < size; ++i) {
                const double off = static_cast<double>(x[i]) - mean;
                squares += off * off;
            }
            float* const figures = norm_figures(layer, values, g);
            figures[0] = static_cast<float>(mean);
            figures[1] = static_cast<float>(1.0 / ::sqrt(squares / size + shared::kNormEpsilon));
        });
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            const float* const figures = norm_figures(layer, values, i / size);
            const std::uint32_t scale = scale_of(layer, i);
            values[layer.out_at + i] = (values[layer.in_at + i] - figures[0]) * figures[1] * parameters[layer.weight + scale] +
                                       parameters[layer.bias + scale];
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        const std::uint32_t size = layer.in.size() / layer.groups;
        // A scale acts on `each` neighbouring values, and so at each position.
        const std::uint32_t features = layer.in.size() / layer.positions,
                            scales = layer.by_value != 0 ? features : layer.in.channels, each = features / scales;
        for_each(threads, scales, [&](std::uint32_t scale) {
            float along = to.sums[layer.weight + scale], sum = to.sums[layer.bias + scale];
            for (std::uint32_t r = 0; r < group.rows; ++r) {
                float* const values = group.values + static_cast<std::size_t>(r) * group.row;
                for (std::uint32_t first = scale * each; first < layer.in.size(); first += features)
                    for (std::uint32_t i = first; i < first + each; ++i) {
                        const float* const figures = norm_figures(layer, values, i / size);
                        along += values[layer.out_at + i] * ((values[layer.in_at + i] - figures[0]) * figures[1]);
                        sum += values[layer.out_at + i];
                    }
            }
            to.sums[layer.weight + scale] = along;
            to.sums[layer.bias + scale] = sum;
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float* parameters) {
        const std::uint32_t size = layer.in.size() / layer.groups;
        for_each_of_rows(threads, group, layer.groups, [&](float* values, std::uint32_t g, std::uint32_t) {
            float* const figures = norm_figures(layer, values, g);
            double sum = 0.0, along = 0.0;
            for (std::uint32_t i = g * size; i < (g + 1) * size; ++i) {
                const float normal = (values[layer.in_at + i] - figures[0]) * figures[1];
                const float gradient = values[layer.out_at + i] * parameters[layer.weight + scale_of(layer, i)];
                sum += static_cast<double>(gradient);
                along += static_cast<double>(gradient) * static_cast<double>(normal);
            }
            figures[2] = static_cast<float>(sum / size);
            figures[3] = static_cast<float>(along / size);
        });
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            const float* const figures = norm_figures(layer, values, i / size);
            const float normal = (values[layer.in_at + i] - figures[0]) * figures[1];
            const float gradient = values[layer.out_at + i] * parameters[layer.weight + scale_of(layer, i)];
            values[layer.in_at + i] = figures[1] * (gradient - figures[2] - normal * figures[3]);
        });
    }
};

}  // namespace fedhive::clients::direct::device
