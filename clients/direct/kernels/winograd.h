// Transforms of Winograd's F(2 × 2, 3 × 3): Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks"
// (arXiv:1509.09308), section 4.1. Lanes over channels, which are contiguous; one line of tiles at a time.
//
//       1  0 -1  0          1   0   0           1  0
//   Bᵀ  0  1  1  0      G  1/2 1/2 1/2      A   1  1       4 × 4 pixels d and a kernel g give 2 × 2 outputs:
//       0 -1  1  0         1/2-1/2 1/2          1 -1       Aᵀ((G g Gᵀ) ⊙ (Bᵀ d B))A
//       0 -1  0  1          0   0   1           0  1
//
// Differs  in the sign of the last rows of Bᵀ and A, so that no value is only negated
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/pointwise.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

struct Four {
    Lanes at[4];
};

/// Reads kLines lines of an image column by column; lines outside the image are 0.
template <std::size_t kLines>
struct Columns {
    const float* from[kLines];
    Stride step[kLines];
    Stride pixel, line;
};

alignas(64) static const float kNoLine[kLanes] = {};

template <std::size_t kLines>
FEDHIVE_INLINE Columns<kLines> columns_of(const WinogradInputs& t, std::size_t channel) {
    Columns<kLines> columns{};
    columns.pixel = t.first_pixel;
    columns.line = static_cast<Stride>(t.pixels * t.channels);
    FEDHIVE_UNROLL for (std::size_t i = 0; i < kLines; ++i) {
        const Stride line = t.first_line + static_cast<Stride>(i), channels = static_cast<Stride>(t.channels);
        const bool there = line >= 0 && line < static_cast<Stride>(t.lines);
        columns.from[i] = there ? t.x + line * static_cast<Stride>(t.pixels) * channels + channel : kNoLine;
        columns.step[i] = there ? channels : 0;
    }
    return columns;
}

template <std::size_t kLines>
FEDHIVE_INLINE void next_column(Columns<kLines>& columns, std::size_t pixels, Lanes (&column)[kLines]) {
    if (static_cast<std::size_t>(columns.pixel++) >= pixels) {  // left or right of the image
        FEDHIVE_UNROLL for (Lanes& value : column) value = zero();
        return;
    }
    // For the next line of tiles: a line is too short for the processor to notice in time that it is read.
    FEDHIVE_UNROLL for (Stride below = 1; below <= 2; ++below)
        __builtin_prefetch(columns.from[kLines - 1] + below * columns.line);
    FEDHIVE_UNROLL for (std::size_t i = 0; i < kLines; ++i) {
        column[i] = load(columns.from[i]);
        columns.from[i] += columns.step[i];
    }
}

/// Bᵀ · d
FEDHIVE_INLINE Four input_transform(const Lanes (&d)[4]) {
    return {{sub(d[0], d[2]), add(d[1], d[2]), sub(d[2], d[1]), sub(d[3], d[1])}};
}

/// Reuses Bᵀ · d of the two columns of pixels that neighbouring tiles share.
static void winograd_inputs(const WinogradInputs& t) {
    // Copied: a store might change *t, for all that the compiler knows, so it would read them again after each.
    const std::size_t tiles = t.tiles, channels = t.channels, pixels = t.pixels;
    const Stride place = t.to_place;
    for (std::size_t c = 0; c < channels; c += kLanes) {
        Columns<4> columns = columns_of<4>(t, c);
        const auto next = [&]() __attribute__((always_inline)) {
            Lanes column[4];
            next_column(columns, pixels, column);
            return input_transform(column);
        };
        float* to = t.to + c;
        Four first = next(), second = next();
        for (std::size_t tile = 0; tile < tiles; ++tile, to += channels) {
            const Four third = next(), fourth = next();
            FEDHIVE_UNROLL for (std::size_t i = 0; i < 4; ++i) {
                const Four row = input_transform({first.at[i], second.at[i], third.at[i], fourth.at[i]});
                FEDHIVE_UNROLL for (std::size_t j = 0; j < 4; ++j)
                    store(to + static_cast<Stride>(4 * i + j) * place, row.at[j]);
            }
            first = third;
            second = fourth;
        }
    }
}

/// A · g
FEDHIVE_INLINE Four gradient_transform(const Lanes (&g)[2]) { return {{g[0], add(g[0], g[1]), sub(g[0], g[1]), g[1]}}; }

static void winograd_gradients(const WinogradInputs& t) {
    const std::size_t tiles = t.tiles, channels = t.channels, pixels = t.pixels;
    const Stride place = t.to_place;
    for (std::size_t c = 0; c < channels; c += kLanes) {
        Columns<2> columns = columns_of<2>(t, c);
        const auto next = [&]() __attribute__((always_inline)) {
            Lanes column[2];
            next_column(columns, pixels, column);
            return gradient_transform(column);
        };
        float* to = t.to + c;
        for (std::size_t tile = 0; tile < tiles; ++tile, to += channels) {
            const Four left = next(), right = next();
            FEDHIVE_UNROLL for (std::size_t i = 0; i < 4; ++i) {
                const Four row = gradient_transform({left.at[i], right.at[i]});
                FEDHIVE_UNROLL for (std::size_t j = 0; j < 4; ++j)
                    store(to + static_cast<Stride>(4 * i + j) * place, row.at[j]);
            }
        }
    }
}

/// Aᵀ · m
struct Pair {
    Lanes first, second;
};
FEDHIVE_INLINE Pair output_transform(const Four& m) {
    return {add(add(m.at[0], m.at[1]), m.at[2]), add(sub(m.at[1], m.at[2]), m.at[3])};
}

/// The 2 × 2 outputs of a tile, Aᵀ · sums · A, in row-major order.
FEDHIVE_INLINE void outputs_of(const float* sums, Stride place, Lanes (&outputs)[4]) {
    Four upper{}, lower{};
    FEDHIVE_UNROLL for (std::size_t j = 0; j < 4; ++j) {
        Four column{};
        FEDHIVE_UNROLL for (std::size_t i = 0; i < 4; ++i) column.at[i] = load(sums + static_cast<Stride>(4 * i + j) * place);
        const Pair two = output_transform(column);
        upper.at[j] = two.first;
        lower.at[j] = two.second;
    }
    const Pair above = output_transform(upper), below = output_transform(lower);
    outputs[0] = above.first;
    outputs[1] = above.second;
    outputs[2] = below.first;
    outputs[3] = below.second;
}

static void winograd_outputs(const WinogradOutputs& t) {
    for (std::size_t c = 0; c < t.channels; c += kLanes) {
        const float* from = t.sums + c;
        const Lanes bias = t.bias != nullptr ? load(t.bias + c) : zero();
        const auto finish = [&](float* to, Lanes value) __attribute__((always_inline)) {
            if (t.bias != nullptr) value = add(value, bias);
            store(to, t.relu ? cut_off(value) : value);
        };
        float* y = t.y + c;
        for (std::size_t p = 0; p < t.pixels; p += 2, from += t.channels, y += 2 * t.channels) {
            Lanes outputs[4];
            FEDHIVE_UNROLL for (Stride below = 2; below <= 3; ++below) {  // the next line of tiles
                __builtin_prefetch(y + below * t.y_line, 1);
                __builtin_prefetch(y + below * t.y_line + static_cast<Stride>(t.channels), 1);
            }
            outputs_of(from, t.sums_place, outputs);
            const bool both = p + 1 < t.pixels;
            finish(y, outputs[0]);
            if (both) finish(y + t.channels, outputs[1]);
            if (t.lines < 2) continue;
            finish(y + t.y_line, outputs[2]);
            if (both) finish(y + t.y_line + static_cast<Stride>(t.channels), outputs[3]);
        }
    }
}

static void winograd_pool2x2(const WinogradPool2x2& t) {
    for (std::size_t p = 0; p < t.pixels; ++p)
        for (std::size_t c = 0; c < t.channels; c += kLanes) {
            Lanes outputs[4];
            outputs_of(t.sums + p * t.channels + c, t.sums_place, outputs);
            pool_window(t, outputs, p, c);
        }
}

/// G · (a, b, c)
FEDHIVE_INLINE Four weight_transform(Lanes a, Lanes b, Lanes c) {
    const Lanes half = all(0.5F), ends = add(a, c);
    return {{a, mul(half, add(ends, b)), mul(half, sub(ends, b)), c}};
}

static void winograd_weights(const WinogradWeights& t) {
    for (std::size_t row = 0; row < t.rows; ++row) {
        const float* from = t.from + static_cast<Stride>(row) * t.from_row;
        float* to = t.to + static_cast<Stride>(row) * t.to_row;
        Four columns[3];
        FEDHIVE_UNROLL for (Stride k = 0; k < 3; ++k) columns[k] = weight_transform(
            load(from + k * t.from_plane), load(from + (k + 3) * t.from_plane), load(from + (k + 6) * t.from_plane));
        FEDHIVE_UNROLL for (Stride k1 = 0; k1 < 4; ++k1) {
            const Four of_row = weight_transform(columns[0].at[k1], columns[1].at[k1], columns[2].at[k1]);
            FEDHIVE_UNROLL for (Stride k2 = 0; k2 < 4; ++k2) store(to + (4 * k1 + k2) * t.to_plane, of_row.at[k2]);
        }
    }
}

/// Gᵀ · s
struct Three {
    Lanes at[3];
};
FEDHIVE_INLINE Three weight_gradient_transform(const Four& s) {
    const Lanes half = all(0.5F), both = mul(half, add(s.at[1], s.at[2]));
    return {{add(s.at[0], both), mul(half, sub(s.at[1], s.at[2])), add(both, s.at[3])}};
}

static void winograd_weight_gradient(const WinogradWeights& t) {
    for (std::size_t row = 0; row < t.rows; ++row) {
        const float* from = t.from + static_cast<Stride>(row) * t.from_row;
        float* to = t.to + static_cast<Stride>(row) * t.to_row;
        Three columns[4];
        FEDHIVE_UNROLL for (Stride k2 = 0; k2 < 4; ++k2) {
            Four column{};
            FEDHIVE_UNROLL for (Stride k1 = 0; k1 < 4; ++k1) column.at[k1] = load(from + (4 * k1 + k2) * t.from_plane);
            columns[k2] = weight_gradient_transform(column);
        }
        FEDHIVE_UNROLL for (Stride k1 = 0; k1 < 3; ++k1) {
            const Three sums =
                weight_gradient_transform({{columns[0].at[k1], columns[1].at[k1], columns[2].at[k1], columns[3].at[k1]}});
            FEDHIVE_UNROLL for (Stride k2 = 0; k2 < 3; ++k2) store(to + (3 * k1 + k2) * t.to_plane, sums.at[k2]);
        }
    }
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
