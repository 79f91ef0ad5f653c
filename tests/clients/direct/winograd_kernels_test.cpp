// Winograd convolutions and their weight gradients against plain loops: to the last bit with whole numbers, up to rounding with
// others; and all instruction sets against each other bit by bit.
#include "clients/direct/ops.h"
#include "clients/direct/ops/convolution.h"
#include "tests/clients/direct/kernel_sets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients::direct;
using namespace fedhive::testing;

namespace {

struct WinogradShape {
    Image in;
    std::size_t channels, padding;
    Image out() const { return {in.height + 2 * padding - 2, in.width + 2 * padding - 2, channels}; }
    std::size_t lines() const { return (out().height + 1) / 2; }
    std::size_t wide() const { return (out().width + 1) / 2; }
    std::size_t tiles() const { return lines() * wide(); }
};

WinogradShape draw_shape(Draws& draws) {
    WinogradShape shape;
    shape.padding = draws.size(0, 2);
    const std::size_t least = shape.padding > 0 ? 1 : 3;
    shape.in = {draws.size(least, 8), draws.size(least, 9), 16 * draws.size(1, 3)};
    shape.channels = 16 * draws.size(1, 3);
    return shape;
}

/// Multiples of `unit`, so that all sums below are exact; any numbers if `unit` is 0.
Floats draw(Draws& draws, std::size_t size, float unit) {
    Floats values = draws.floats(size);
    if (unit > 0.0F)
        for (float& value : values) value = unit * (static_cast<float>(draws.size(0, 8)) - 4.0F);
    return values;
}

/// All lines of tiles, [place][tile][channel].
Floats tiles_of(void (*transform)(const WinogradInputs&), const WinogradShape& shape, const Image& image, const Floats& x,
                std::size_t border) {
    Floats tiles(kWinogradPlaces * shape.tiles() * image.channels, NAN);
    for (std::size_t i = 0; i < shape.lines(); ++i)
        transform({.x = x.data(),
                   .lines = image.height,
                   .pixels = image.width,
                   .channels = image.channels,
                   .first_line = stride(2 * i) - stride(border),
                   .first_pixel = -stride(border),
                   .to = tiles.data() + i * shape.wide() * image.channels,
                   .to_place = stride(shape.tiles() * image.channels),
                   .tiles = shape.wide()});
    return tiles;
}

/// visit(input index, output index, tap) for each product of an input channel with an output channel.
template <typename Visit>
void for_each_product(const WinogradShape& shape, const Visit& visit) {
    const Image in = shape.in, out = shape.out();
    for (std::size_t i = 0; i < out.height; ++i)
        for (std::size_t j = 0; j < out.width; ++j)
            for (std::size_t tap = 0; tap < 9; ++tap) {
                const std::size_t line = i + tap / 3 - shape.padding,
                                  pixel = j + tap % 3 - shape.padding;  // outside: huge
                if (line < in.height && pixel < in.width)
                    visit((line * in.width + pixel) * in.channels, (i * out.width + j) * out.channels, tap);
            }
}

void check(const Floats& found, const std::vector<double>& expected, bool exact) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (exact)
            REQUIRE(static_cast<double>(found[i]) == expected[i]);
        else
            REQUIRE(static_cast<double>(found[i]) == doctest::Approx(expected[i]).epsilon(1e-5).scale(10.0));
    }
}

}  // namespace

TEST_SUITE("DirectWinogradKernels") {
    TEST_CASE("ConvolutionsByTilesAreConvolutions") {
        Draws draws(31);
        for (int n = 0; n < 60; ++n) {
            const bool exact = n % 2 == 0, relu = n % 4 > 1, biased = n % 3 > 0;
            const WinogradShape shape = draw_shape(draws);
            const Image in = shape.in, out = shape.out();
            CAPTURE(n);
            const Floats x = draw(draws, in.size(), exact ? 1.0F : 0.0F),
                         bias = draw(draws, shape.channels, exact ? 1.0F : 0.0F);
            Floats weights = draw(draws, 9 * in.channels * out.channels, exact ? 4.0F : 0.0F);  // [tap][in][out]
            const Floats found = agreed([&](const Kernels& kernels) {
                const Floats tiles = tiles_of(kernels.winograd_inputs, shape, in, x, shape.padding);
                Floats of_tiles(kWinogradPlaces * in.channels * out.channels),
                    sums(kWinogradPlaces * shape.tiles() * out.channels, 0.0F);
                for (std::size_t o = 0; o < out.channels; o += kLaneCount)
                    kernels.winograd_weights({.from = weights.data() + o,
                                              .from_plane = stride(in.channels * out.channels),
                                              .from_row = stride(out.channels),
                                              .to = of_tiles.data() + o,
                                              .to_plane = stride(in.channels * out.channels),
                                              .to_row = stride(out.channels),
                                              .rows = in.channels});
                for (std::size_t place = 0; place < kWinogradPlaces; ++place)
                    for (std::size_t tile = place * shape.tiles(); tile < (place + 1) * shape.tiles(); ++tile)
                        for (std::size_t c = 0; c < in.channels; ++c)
                            for (std::size_t o = 0; o < out.channels; ++o)
                                sums[tile * out.channels + o] +=
                                    tiles[tile * in.channels + c] * of_tiles[(place * in.channels + c) * out.channels + o];
                Floats y(out.size(), NAN);
                for (std::size_t i = 0; i < shape.lines(); ++i)
                    kernels.winograd_outputs({.sums = sums.data() + i * shape.wide() * out.channels,
                                              .sums_place = stride(shape.tiles() * out.channels),
                                              .bias = biased ? bias.data() : nullptr,
                                              .y = y.data() + 2 * i * out.width * out.channels,
                                              .y_line = stride(out.width * out.channels),
                                              .lines = out.height - 2 * i,
                                              .pixels = out.width,
                                              .channels = out.channels,
                                              .relu = relu});
                return y;
            });
            std::vector<double> expected(out.size());
            for (std::size_t i = 0; i < out.size(); ++i)
                expected[i] = biased ? static_cast<double>(bias[i % out.channels]) : 0.0;
            for_each_product(shape, [&](std::size_t from, std::size_t to, std::size_t tap) {
                for (std::size_t c = 0; c < in.channels; ++c)
                    for (std::size_t o = 0; o < out.channels; ++o)
                        expected[to + o] += static_cast<double>(x[from + c]) *
                                            static_cast<double>(weights[(tap * in.channels + c) * out.channels + o]);
            });
            if (relu)
                for (double& value : expected) value = std::max(value, 0.0);
            check(found, expected, exact);
        }
    }

    TEST_CASE("WeightsGradientsAreSumsOfTiles") {
        Draws draws(32);
        for (int n = 0; n < 60; ++n) {
            const bool exact = n % 2 == 0;
            const WinogradShape shape = draw_shape(draws);
            const Image in = shape.in, out = shape.out();
            CAPTURE(n);
            const std::size_t size = in.channels * out.channels;
            const Floats x = draw(draws, in.size(), exact ? 1.0F : 0.0F),
                         gradient = draw(draws, out.size(), exact ? 1.0F : 0.0F);
            const Floats found = agreed([&](const Kernels& kernels) {
                const Floats tiles = tiles_of(kernels.winograd_inputs, shape, in, x, shape.padding),
                             gradients = tiles_of(kernels.winograd_gradients, shape, out, gradient, 0);
                Floats sums(kWinogradPlaces * size, 0.0F), weights(9 * size, NAN);
                for (std::size_t place = 0; place < kWinogradPlaces; ++place)
                    for (std::size_t tile = place * shape.tiles(); tile < (place + 1) * shape.tiles(); ++tile)
                        for (std::size_t c = 0; c < in.channels; ++c)
                            for (std::size_t o = 0; o < out.channels; ++o)
                                sums[place * size + c * out.channels + o] +=
                                    tiles[tile * in.channels + c] * gradients[tile * out.channels + o];
                for (std::size_t o = 0; o < out.channels; o += kLaneCount)
                    kernels.winograd_weight_gradient({.from = sums.data() + o,
                                                      .from_plane = stride(size),
                                                      .from_row = stride(out.channels),
                                                      .to = weights.data() + o,
                                                      .to_plane = stride(size),
                                                      .to_row = stride(out.channels),
                                                      .rows = in.channels});
                return weights;
            });
            std::vector<double> expected(9 * size);
            for_each_product(shape, [&](std::size_t from, std::size_t to, std::size_t tap) {
                for (std::size_t c = 0; c < in.channels; ++c)
                    for (std::size_t o = 0; o < out.channels; ++o)
                        expected[(tap * in.channels + c) * out.channels + o] +=
                            static_cast<double>(x[from + c]) * static_cast<double>(gradient[to + o]);
            });
            check(found, expected, exact);
        }
    }

    TEST_CASE("LinesOfTilesArePooledAsTheirOutputsAre") {
        Draws draws(33);
        for (int n = 0; n < 40; ++n) {
            const bool relu = n % 2 == 0, scaled = n % 4 > 1;
            const std::size_t channels = 16 * draws.size(1, 3), pixels = draws.size(1, 7), line = 2 * pixels * channels;
            CAPTURE(n);
            // Whole numbers, so that maxima are often tied.
            const Floats sums = draw(draws, kWinogradPlaces * pixels * channels, n % 3 > 0 ? 0.0F : 1.0F),
                         bias = draws.floats(channels), scale = draws.floats(channels);
            agreed([&](const Kernels& kernels) {
                Floats outputs(2 * line), y(pixels * channels, NAN), expected(y.size(), NAN);
                std::vector<std::uint8_t> argmax(y.size(), 99), expected_argmax(y.size(), 98);
                kernels.winograd_outputs({.sums = sums.data(),
                                          .sums_place = stride(pixels * channels),
                                          .y = outputs.data(),
                                          .y_line = stride(line),
                                          .lines = 2,
                                          .pixels = 2 * pixels,
                                          .channels = channels});
                kernels.pool2x2({.upper = outputs.data(),
                                 .lower = outputs.data() + line,
                                 .bias = bias.data(),
                                 .scale = scaled ? scale.data() : nullptr,
                                 .y = expected.data(),
                                 .argmax = expected_argmax.data(),
                                 .pixels = pixels,
                                 .channels = channels,
                                 .padded = channels,
                                 .relu = relu});
                kernels.winograd_pool2x2({.sums = sums.data(),
                                          .sums_place = stride(pixels * channels),
                                          .bias = bias.data(),
                                          .scale = scaled ? scale.data() : nullptr,
                                          .y = y.data(),
                                          .argmax = argmax.data(),
                                          .pixels = pixels,
                                          .channels = channels,
                                          .relu = relu});
                CHECK(same_bits(y, expected));
                CHECK(argmax == expected_argmax);
                return y;
            });
        }
    }

    TEST_CASE("ShapesAloneSayWhatUsesWinograd") {
        const ConvolutionTerms terms{.in = {6, 6, 16}, .channels = 16, .kernel = 3, .stride = 1, .padding = 1};
        CHECK(uses_winograd(terms));
        const auto with = [&](auto change) {
            ConvolutionTerms other = terms;
            change(other);
            return uses_winograd(other);
        };
        CHECK(with([](auto& t) { t.padding = 0; }));
        CHECK(with([](auto& t) { t.relu = t.pool = true; }));
        CHECK_FALSE(with([](auto& t) { t.kernel = 2; }));
        CHECK_FALSE(with([](auto& t) { t.stride = 2; }));
        CHECK_FALSE(with([](auto& t) { t.channels = 20; }));
        CHECK_FALSE(with([](auto& t) { t.in.channels = 8; }));
    }
}
