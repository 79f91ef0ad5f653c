// The middle of self-attention, between its projections: softmax(q · kᵀ / sqrt(d)) · v of each head. C++17.
//
// Values   queries, keys and values at in_at, keys_at and values_at, a position's first float `pitch` after that of the position before;
//          a head has out.channels / positions / groups features of them
// Figures  at other_at: [groups][positions][positions], the shares p, from backward the gradient of the scores; then [positions][features],
//          the gradient of the values
#pragma once

#include "clients/direct/device/layers.h"
#include "clients/direct/device/layers/values.h"

namespace fedhive::clients::direct::device {

struct AttentionLayer : NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group, const float*) {
        const Sizes s(layer);
        for_each_of_rows(threads, group, s.heads * s.positions, [&](float* values, std::uint32_t at, std::uint32_t) {
            const std::uint32_t i = at % s.positions, first = at / s.positions * s.width, seen = seen_by(layer, i);
            float* const shares = values + layer.other_at + at * s.positions;
            float most = -INFINITY;
            for (std::uint32_t j = 0; j < seen; ++j) {
                const float score = s.product(values + layer.in_at + i * layer.pitch + first,
                                              values + layer.keys_at + j * layer.pitch + first) *
                                    layer.score_scale;
                shares[j] = score;
                if (!(score <= most)) most = score;
            }
            float sum = 0.0F;
            for (std::uint32_t j = 0; j < seen; ++j) {
                shares[j] = exponential(shares[j] - most);
                sum += shares[j];
            }
            const float share = 1.0F / sum;
            for (std::uint32_t j = 0; j < seen; ++j) shares[j] *= share;
        });
        for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t at, std::uint32_t row) {
            const std::uint32_t i = at / s.features, c = at - i * s.features, seen = seen_by(layer, i);
            const std::uint32_t of = (c / s.width * s.positions + i) * s.positions;
            float sum = 0.0F;
            for (std::uint32_t j = 0; j < seen; ++j)
                sum = fused(share_of(layer, group, values, row, of + j), values[layer.values_at + j * layer.pitch + c], sum);
            values[layer.out_at + at] = sum;
        });
    }

    /// The gradients of queries, keys and values in their places. The values' is first written behind the shares, since that of the shares
    /// needs the values; the queries' where that of the output was, since the keys' needs the queries.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float*) {
        const Sizes s(layer);
        const std::uint32_t square = s.positions * s.positions, moved_at = layer.other_at + s.heads * square;
        const auto for_each_value = [&](const auto& body) {  // body(values, row, position, feature, its head's first score)
            for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t at, std::uint32_t row) {
                const std::uint32_t i = at / s.features, c = at - i * s.features;
                body(values, row, i, c, c / s.width * square);
            });
        };
        for_each_value([&](float* values, std::uint32_t row, std::uint32_t j, std::uint32_t c, std::uint32_t of) {
            float sum = 0.0F;
            for (std::uint32_t i = first_to_see(layer, j); i < s.positions; ++i)
                sum = fused(share_of(layer, group, values, row, of + i * s.positions + j),
                            values[layer.out_at + i * s.features + c], sum);
            values[moved_at + j * s.features + c] = sum;
        });
        for_each_of_rows(threads, group, s.heads * s.positions, [&](float* values, std::uint32_t at, std::uint32_t row) {
            const std::uint32_t i = at % s.positions, first = at / s.positions * s.width, seen = seen_by(layer, i);
            float* const shares = values + layer.other_at + at * s.positions;
            const auto of_share = [&](std::uint32_t j) {
                const float of_dropped = s.product(values + layer.out_at + i * s.features + first,
                                                   values + layer.values_at + j * layer.pitch + first);
                return scaled(of_dropped, kept(layer, group, row, at * s.positions + j));
            };
            float mean = 0.0F;
            for (std::uint32_t j = 0; j < seen; ++j) mean = fused(shares[j], of_share(j), mean);
            for (std::uint32_t j = 0; j < seen; ++j) shares[j] = shares[j] * (of_share(j) - mean) * layer.score_scale;
        });
        for_each_value([&](float* values, std::uint32_t, std::uint32_t i, std::uint32_t c, std::uint32_t of) {
            float sum = 0.0F;
            for (std::uint32_t j = 0; j < seen_by(layer, i); ++j)
                sum =
                    fused(values[layer.other_at + of + i * s.positions + j], values[layer.keys_at + j * layer.pitch + c], sum);
            values[layer.out_at + i * s.features + c] = sum;
            values[layer.values_at + i * layer.pitch + c] = values[moved_at + i * s.features + c];
        });
        for_each_value([&](float* values, std::uint32_t, std::uint32_t j, std::uint32_t c, std::uint32_t of) {
            float sum = 0.0F;
            for (std::uint32_t i = first_to_see(layer, j); i < s.positions; ++i)
                sum = fused(values[layer.other_at + of + i * s.positions + j], values[layer.in_at + i * layer.pitch + c], sum);
            values[layer.keys_at + j * layer.pitch + c] = sum;
        });
        for_each_value([&](float* values, std::uint32_t, std::uint32_t i, std::uint32_t c, std::uint32_t) {
            values[layer.in_at + i * layer.pitch + c] = values[layer.out_at + i * s.features + c];
        });
    }

    /// Floats of the figures.
    FEDHIVE_HOST_DEVICE static std::uint32_t figures_of(std::uint32_t positions, std::uint32_t features, std::uint32_t heads) {
        return (heads * positions + features) * positions;
    }

private:
    struct Sizes {
        FEDHIVE_HOST_DEVICE explicit Sizes(const Layer& layer)
            : positions(layer.positions),
              heads(layer.groups),
              features(layer.out.size() / positions),
              width(features / heads) {}
        FEDHIVE_HOST_DEVICE float product(const float* a, const float* b) const {
            float sum = 0.0F;
            for (std::uint32_t i = 0; i < width; ++i) sum = fused(a[i], b[i], sum);
            return sum;
        }
        std::uint32_t positions, heads, features, width;
    };

    /// The positions that position i attends to are [0, seen_by(i)); those that attend to j begin at first_to_see(j).
    FEDHIVE_HOST_DEVICE static std::uint32_t seen_by(const Layer& layer, std::uint32_t i) {
        return layer.causal != 0 ? i + 1 : layer.positions;
    }
    FEDHIVE_HOST_DEVICE static std::uint32_t first_to_see(const Layer& layer, std::uint32_t j) {
        return layer.causal != 0 ? j : 0;
    }

    /// The dropout factor of one of a row's shares.
    FEDHIVE_HOST_DEVICE static float kept(const Layer& layer, const RowGroup& group, std::uint32_t row, std::uint32_t share) {
        if (layer.drop_below == 0) return 1.0F;
        const std::uint32_t shares = layer.groups * layer.positions * layer.positions;
        return kept_value(layer, group, (group.first + row) * shares + share);
    }

    FEDHIVE_HOST_DEVICE static float share_of(const Layer& layer, const RowGroup& group, const float* values, std::uint32_t row,
                                              std::uint32_t share) {
        return scaled(values[layer.other_at + share], kept(layer, group, row, share));
    }
};

}  // namespace fedhive::clients::direct::device
