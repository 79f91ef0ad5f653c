// Embedding of token ids, as the first layer. C++17.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

/// Offset of the embedding of the token at position `at`.
FEDHIVE_HOST_DEVICE std::uint32_t row_of_token(const Layer& layer, const float* values, std::uint32_t at, std::uint32_t dim) {
    return layer.weight + static_cast<std::uint32_t>(values[layer.in_at + at]) * dim;
}

struct EmbeddingLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        const std::uint32_t dim = layer.out.size() / layer.in.size();
        for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            values[layer.out_at + i] = parameters[row_of_token(layer, values, i / dim, dim) + i % dim];
        });
    }

    /// One thread for each feature of all tokens, so that no two threads add to the same value.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        const std::uint32_t positions = layer.in.size(), dim = layer.out.size() / positions;
        for_each(threads, dim, [&](std::uint32_t feature) {
            const float* values = group.values;
            for (std::uint32_t r = 0; r < group.rows; ++r, values += group.row)
                for (std::uint32_t at = 0; at < positions; ++at)
                    to.sums[row_of_token(layer, values, at, dim) + feature] += values[layer.out_at + at * dim + feature];
        });
    }
};

}  // namespace fedhive::clients::direct::device
