// Forward and backward of each layer over a group of rows (network.h), for any number of cooperating threads: a block on a GPU,
// a single thread in a test. C++17.
//
// Order    one thread computes an output and adds its terms in a fixed order by fused multiply-adds: neither the number of
//          threads nor the group size changes a bit.
#pragma once

#include "clients/direct/device/element.h"
#include "clients/direct/device/network.h"

namespace fedhive::clients::direct::device {

/// Rows [0, rows) of a group: examples first, first + 1, … of the batch.
struct Group {
    float* values = nullptr;  // [rows][row]
    std::uint32_t row = 0;
    std::uint32_t rows = 0;
    std::uint32_t first = 0;
    bool training = true;  // dropout acts
    std::uint64_t dropout_key = 0;
};

struct Gradients {
    const float* parameters = nullptr;  // [P]
    float* sums = nullptr;              // [trainable], added to
};

/// body(i) for each i < size, divided among the threads; then a barrier.
template <typename Threads, typename Body>
FEDHIVE_HOST_DEVICE void for_each(const Threads& threads, std::uint32_t size, const Body& body) {
    for (std::uint32_t i = threads.index(); i < size; i += threads.count()) body(i);
    threads.wait();
}

/// body(row's values, i) for each row and each i < size.
template <typename Threads, typename Body>
FEDHIVE_HOST_DEVICE void for_each_of_rows(const Threads& threads, const Group& group, std::uint32_t size, const Body& body) {
    for_each(threads, group.rows * size, [&](std::uint32_t e) {
        const std::uint32_t r = e / size;
        body(group.values + static_cast<std::size_t>(r) * group.row, e - r * size, r);
    });
}

// --- embedding --------------------------------------------------------------------------------------------------------------------

/// Offset of the embedding of the token at position `at`.
FEDHIVE_HOST_DEVICE std::uint32_t row_of_token(const Layer& layer, const float* values, std::uint32_t at, std::uint32_t dim) {
    return layer.weight + static_cast<std::uint32_t>(values[layer.in_at + at]) * dim;
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void embedding_forward(const Threads& threads, const Layer& layer, const Group& group,
                                           const float* parameters) {
    const std::uint32_t dim = layer.out.size() / layer.in.size();
    for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
        values[layer.out_at + i] = parameters[row_of_token(layer, values, i / dim, dim) + i % dim];
    });
}

/// One thread per feature, for all tokens: no two threads add to the same value.
template <typename Threads>
FEDHIVE_HOST_DEVICE void embedding_gradient(const Threads& threads, const Layer& layer, const Group& group, float* sums) {
    const std::uint32_t positions = layer.in.size(), dim = layer.out.size() / positions;
    for_each(threads, dim, [&](std::uint32_t feature) {
        const float* values = group.values;
        for (std::uint32_t r = 0; r < group.rows; ++r, values += group.row)
            for (std::uint32_t at = 0; at < positions; ++at)
                sums[row_of_token(layer, values, at, dim) + feature] += values[layer.out_at + at * dim + feature];
    });
}

// --- linear -----------------------------------------------------------------------------------------------------------------------

/// Outputs that a thread computes together if there are enough for all threads: shared inputs are read once. Each output keeps
/// its own sum, so this changes no bit.
constexpr std::uint32_t kAbreast = 4;

/// run(Abreast<kAbreast>), or run(Abreast<1>) if that would leave threads idle.
template <std::uint32_t Width>
struct Abreast {
    static constexpr std::uint32_t width = Width;
};
template <typename Threads, typename Run>
FEDHIVE_HOST_DEVICE void abreast(const Threads& threads, std::uint32_t outputs, const Run& run) {
    if (outputs >= kAbreast * threads.count())
        run(Abreast<kAbreast>{});
    else
        run(Abreast<1>{});
}

/// Index of the k-th output from `first` on; past the end the last one, whose result is computed again and dropped.
FEDHIVE_HOST_DEVICE std::uint32_t at_most(std::uint32_t number, std::uint32_t last) { return number < last ? number : last; }

/// Neighbouring threads take neighbouring rows: they read the same weight, and values in different banks.
template <typename Threads>
FEDHIVE_HOST_DEVICE void linear_forward(const Threads& threads, const Layer& layer, const Group& group,
                                        const float* parameters) {
    const std::uint32_t inputs = layer.in.size(), outputs = layer.out.size();
    abreast(threads, group.rows * outputs, [&](auto wide) {
        constexpr std::uint32_t kWidth = decltype(wide)::width;
        for_each(threads, group.rows * ((outputs + kWidth - 1) / kWidth), [&](std::uint32_t e) {
            const std::uint32_t part = e / group.rows, o = part * kWidth;
            float* const values = group.values + static_cast<std::size_t>(e - part * group.rows) * group.row;
            const float* const x = values + layer.in_at;
            const float* w[kWidth];
            float sums[kWidth] = {};
            for (std::uint32_t k = 0; k < kWidth; ++k)
                w[k] = parameters + layer.weight + static_cast<std::size_t>(at_most(o + k, outputs - 1)) * inputs;
            for (std::uint32_t i = 0; i < inputs; ++i)
                for (std::uint32_t k = 0; k < kWidth; ++k) sums[k] = fused(x[i], w[k][i], sums[k]);
            for (std::uint32_t k = 0; k < kWidth && o + k < outputs; ++k)
                values[layer.out_at + o + k] = sums[k] + parameters[layer.bias + o + k];
        });
    });
}

/// Neighbouring threads take neighbouring inputs, of the same outputs.
template <typename Threads>
FEDHIVE_HOST_DEVICE void linear_gradient(const Threads& threads, const Layer& layer, const Group& group, float* sums) {
    const std::uint32_t inputs = layer.in.size(), outputs = layer.out.size();
    abreast(threads, inputs * outputs, [&](auto wide) {
        constexpr std::uint32_t kWidth = decltype(wide)::width;
        for_each(threads, inputs * ((outputs + kWidth - 1) / kWidth), [&](std::uint32_t e) {
            const std::uint32_t o = e / inputs * kWidth, i = e % inputs;
            float* const to = sums + layer.weight + static_cast<std::size_t>(o) * inputs + i;
            float of[kWidth];
            for (std::uint32_t k = 0; k < kWidth; ++k) of[k] = to[(at_most(o + k, outputs - 1) - o) * inputs];
            const float* values = group.values;
            for (std::uint32_t r = 0; r < group.rows; ++r, values += group.row) {
                const float x = values[layer.in_at + i];
                for (std::uint32_t k = 0; k < kWidth; ++k)
                    of[k] = fused(values[layer.out_at + at_most(o + k, outputs - 1)], x, of[k]);
            }
            for (std::uint32_t k = 0; k < kWidth && o + k < outputs; ++k) to[k * inputs] = of[k];
        });
    });
    for_each(threads, outputs, [&](std::uint32_t o) {
        float sum = sums[layer.bias + o];
        for (std::uint32_t r = 0; r < group.rows; ++r)
            sum += group.values[static_cast<std::size_t>(r) * group.row + layer.out_at + o];
        sums[layer.bias + o] = sum;
    });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void linear_back(const Threads& threads, const Layer& layer, const Group& group, const float* parameters) {
    const std::uint32_t inputs = layer.in.size(), outputs = layer.out.size();
    for_each_of_rows(threads, group, inputs, [&](float* values, std::uint32_t i, std::uint32_t) {
        const float *gradient = values + layer.out_at, *w = parameters + layer.weight + i;
        float sum = 0.0F;
        for (std::uint32_t o = 0; o < outputs; ++o, w += inputs) sum = fused(gradient[o], *w, sum);
        values[layer.in_at + i] = sum;
    });
}

// --- convolution ------------------------------------------------------------------------------------------------------------------

/// The channels that a thread computes together read the same pixels.
template <typename Threads>
FEDHIVE_HOST_DEVICE void convolution_forward(const Threads& threads, const Layer& layer, const Group& group,
                                             const float* parameters) {
    const Extent in = layer.in, out = layer.out;
    const std::uint32_t kernel = layer.kernel, taps = in.channels * kernel * kernel, pixels = out.height * out.width;
    abreast(threads, group.rows * out.size(), [&](auto wide) {
        constexpr std::uint32_t kWidth = decltype(wide)::width;
        const std::uint32_t parts = (out.channels + kWidth - 1) / kWidth;
        for_each_of_rows(threads, group, parts * pixels, [&](float* values, std::uint32_t at, std::uint32_t) {
            const std::uint32_t o = at / pixels * kWidth, pixel = at % pixels;
            // Unsigned on purpose: a negative coordinate wraps to one far outside the image.
            const std::uint32_t top = pixel / out.width * layer.stride - layer.padding;
            const std::uint32_t left = pixel % out.width * layer.stride - layer.padding;
            const float* w[kWidth];
            float sums[kWidth] = {};
            for (std::uint32_t k = 0; k < kWidth; ++k)
                w[k] = parameters + layer.weight + static_cast<std::size_t>(at_most(o + k, out.channels - 1)) * taps;
            for (std::uint32_t c = 0, tap = 0; c < in.channels; ++c)
                for (std::uint32_t i = 0; i < kernel; ++i, tap += kernel) {
                    if (top + i >= in.height) continue;
                    const float* const x = values + layer.in_at + (c * in.height + top + i) * in.width;
                    for (std::uint32_t j = 0; j < kernel; ++j) {
                        if (left + j >= in.width) continue;
                        for (std::uint32_t k = 0; k < kWidth; ++k) sums[k] = fused(x[left + j], w[k][tap + j], sums[k]);
                    }
                }
            for (std::uint32_t k = 0; k < kWidth && o + k < out.channels; ++k)
                values[layer.out_at + (o + k) * pixels + pixel] =
                    layer.biased != 0 ? sums[k] + parameters[layer.bias + o + k] : sums[k];
        });
    });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void convolution_gradient(const Threads& threads, const Layer& layer, const Group& group, float* sums) {
    const Extent in = layer.in, out = layer.out;
    const std::uint32_t kernel = layer.kernel, square = kernel * kernel, taps = in.channels * square,
                        pixels = out.height * out.width;
    abreast(threads, out.channels * taps, [&](auto wide) {
        constexpr std::uint32_t kWidth = decltype(wide)::width;
        for_each(threads, (out.channels + kWidth - 1) / kWidth * taps, [&](std::uint32_t e) {
            const std::uint32_t o = e / taps * kWidth, tap = e % taps;
            const std::uint32_t c = tap / square, i = tap % square / kernel, j = tap % kernel;
            float* const to = sums + layer.weight + static_cast<std::size_t>(o) * taps + tap;
            std::uint32_t channel[kWidth];
            float of[kWidth];
            for (std::uint32_t k = 0; k < kWidth; ++k) {
                channel[k] = at_most(o + k, out.channels - 1);
                of[k] = to[(channel[k] - o) * taps];
            }
            for (std::uint32_t r = 0; r < group.rows; ++r) {
                const float* const values = group.values + static_cast<std::size_t>(r) * group.row;
                for (std::uint32_t y = 0; y < out.height; ++y) {
                    const std::uint32_t from_y = y * layer.stride + i - layer.padding;
                    if (from_y >= in.height) continue;
                    const float* const x = values + layer.in_at + (c * in.height + from_y) * in.width;
                    const float* const gradient = values + layer.out_at + y * out.width;
                    for (std::uint32_t p = 0; p < out.width; ++p) {
                        const std::uint32_t from_x = p * layer.stride + j - layer.padding;
                        if (from_x >= in.width) continue;
                        for (std::uint32_t k = 0; k < kWidth; ++k)
                            of[k] = fused(gradient[channel[k] * pixels + p], x[from_x], of[k]);
                    }
                }
            }
            for (std::uint32_t k = 0; k < kWidth && o + k < out.channels; ++k) to[k * taps] = of[k];
        });
    });
    if (layer.biased == 0) return;
    for_each(threads, out.channels, [&](std::uint32_t o) {
        float sum = sums[layer.bias + o];
        for (std::uint32_t r = 0; r < group.rows; ++r) {
            const float* const gradient = group.values + static_cast<std::size_t>(r) * group.row + layer.out_at + o * pixels;
            for (std::uint32_t p = 0; p < pixels; ++p) sum += gradient[p];
        }
        sums[layer.bias + o] = sum;
    });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void convolution_back(const Threads& threads, const Layer& layer, const Group& group,
                                          const float* parameters) {
    const Extent in = layer.in, out = layer.out;
    const std::uint32_t kernel = layer.kernel, square = kernel * kernel, pixels = in.height * in.width;
    for_each_of_rows(threads, group, in.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
        const std::uint32_t c = at / pixels, y = at % pixels / in.width + layer.padding, x = at % in.width + layer.padding;
        const float *gradient = values + layer.out_at, *w = parameters + layer.weight + c * square;
        float sum = 0.0F;
        for (std::uint32_t o = 0; o < out.channels; ++o, gradient += out.height * out.width, w += in.channels * square)
            for (std::uint32_t i = 0; i < kernel && i <= y; ++i) {
                const std::uint32_t of_y = (y - i) / layer.stride;
                if (of_y >= out.height || of_y * layer.stride != y - i) continue;
                for (std::uint32_t j = 0; j < kernel && j <= x; ++j) {
                    const std::uint32_t of_x = (x - j) / layer.stride;
                    if (of_x < out.width && of_x * layer.stride == x - j)
                        sum = fused(gradient[of_y * out.width + of_x], w[i * kernel + j], sum);
                }
            }
        values[layer.in_at + at] = sum;
    });
}

// --- pools ------------------------------------------------------------------------------------------------------------------------

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

template <typename Threads>
FEDHIVE_HOST_DEVICE void pool_forward(const Threads& threads, const Layer& layer, const Group& group) {
    const float share = 1.0F / static_cast<float>(layer.kernel * layer.kernel);
    for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
        const float* const x = values + layer.in_at;
        const std::uint32_t window = window_of(layer, at);
        if (layer.kind == Kind::MaxPool) {
            values[layer.out_at + at] = x[argmax_of(layer, x, window)];
            return;
        }
        float sum = 0.0F;
        for (std::uint32_t i = 0; i < layer.kernel; ++i)
            for (std::uint32_t j = 0; j < layer.kernel; ++j) sum += x[window + i * layer.in.width + j];
        values[layer.out_at + at] = sum * share;
    });
}

/// One thread per window; a second loop zeroes the gradient of the edge outside all windows.
template <typename Threads>
FEDHIVE_HOST_DEVICE void pool_back(const Threads& threads, const Layer& layer, const Group& group) {
    const float share = 1.0F / static_cast<float>(layer.kernel * layer.kernel);
    const std::uint32_t width = layer.in.width, height = layer.in.height;
    for_each_of_rows(threads, group, layer.out.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
        float* const x = values + layer.in_at;
        const float gradient = values[layer.out_at + at];
        const bool largest = layer.kind == Kind::MaxPool;
        const std::uint32_t window = window_of(layer, at), best = largest ? argmax_of(layer, x, window) : 0;
        for (std::uint32_t i = 0; i < layer.kernel; ++i)
            for (std::uint32_t j = 0; j < layer.kernel; ++j) x[window + i * width + j] = largest ? 0.0F : gradient * share;
        if (largest) x[best] = gradient;
    });
    const std::uint32_t right = layer.out.width * layer.kernel, bottom = layer.out.height * layer.kernel;
    if (right == width && bottom == height) return;
    for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t at, std::uint32_t) {
        if (at % width >= right || at / width % height >= bottom) values[layer.in_at + at] = 0.0F;
    });
}

// --- value by value ---------------------------------------------------------------------------------------------------------------

/// The dropout factor of a value: 0 or 1 / (1 - p), 1 outside training. Numbered as in the host engine, which stores images
/// pixel by pixel.
FEDHIVE_HOST_DEVICE float kept(const Layer& layer, const Group& group, std::uint32_t row, std::uint32_t at) {
    if (!group.training) return 1.0F;
    const std::uint32_t channels = layer.in.channels, pixels = layer.in.height * layer.in.width, c = at / pixels;
    const std::uint32_t of_row = layer.kind == Kind::ChannelDropout ? c : at % pixels * channels + c;
    const std::uint32_t each = layer.kind == Kind::ChannelDropout ? channels : layer.in.size();
    const std::uint64_t key = group.dropout_key ^ (std::uint64_t{layer.drop_number} + 1) * 0x9E3779B97F4A7C15U;
    return drawn_bits((group.first + row) * each + of_row, key) < layer.drop_below ? 0.0F : layer.keep_scale;
}

/// A dropped value is 0, even if it was NaN or infinite.
FEDHIVE_HOST_DEVICE float scaled(float value, float scale) { return scale == 0.0F ? 0.0F : value * scale; }

template <typename Threads>
FEDHIVE_HOST_DEVICE void value_forward(const Threads& threads, const Layer& layer, const Group& group) {
    for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t row) {
        const float x = values[layer.in_at + i];
        values[layer.out_at + i] = layer.kind == Kind::Relu   ? cut_off(x)
                                   : layer.kind == Kind::Tanh ? tangent(x)
                                                              : scaled(x, kept(layer, group, row, i));
    });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void value_back(const Threads& threads, const Layer& layer, const Group& group) {
    for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t row) {
        const float x = values[layer.in_at + i], gradient = values[layer.out_at + i],
                    y = layer.kind == Kind::Tanh ? tangent(x) : 0.0F;
        values[layer.in_at + i] = layer.kind == Kind::Relu   ? (x <= 0.0F ? 0.0F : gradient)
                                  : layer.kind == Kind::Tanh ? gradient * (1.0F - y * y)
                                                             : scaled(gradient, kept(layer, group, row, i));
    });
}

// --- residual ---------------------------------------------------------------------------------------------------------------------

template <typename Threads>
FEDHIVE_HOST_DEVICE void sum_forward(const Threads& threads, const Layer& layer, const Group& group) {
    for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
        values[layer.out_at + i] = values[layer.in_at + i] + values[layer.other_at + i];
    });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void sum_back(const Threads& threads, const Layer& layer, const Group& group) {
    for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
        values[layer.in_at + i] = values[layer.out_at + i];
        if (layer.kind == Kind::ShortcutSum) values[layer.other_at + i] = values[layer.out_at + i];
    });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void copy_forward(const Threads& threads, const Layer& layer, const Group& group) {
    for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
        values[layer.out_at + i] = values[layer.in_at + i];
    });
}

/// Where a residual begins: adds the input's gradient from the other path, at other_at.
template <typename Threads>
FEDHIVE_HOST_DEVICE void begin_back(const Threads& threads, const Layer& layer, const Group& group) {
    for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
        values[layer.in_at + i] += values[layer.other_at + i];
    });
}

}  // namespace fedhive::clients::direct::device
