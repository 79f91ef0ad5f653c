// Convolutions before a 2 × 2 pool and their gradients against plain loops, and all instruction sets against each other bit by
// bit.
#include "tests/clients/direct/kernel_sets.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients::direct;
using namespace fedhive::testing;

TEST_SUITE("DirectPool2x2Kernels") {
    TEST_CASE("ConvolutionsOverPixelsArePooledOnes") {
        Draws draws(24);
        for (const std::size_t channels : {1U, 3U, 6U, 10U, 20U, 33U})
            for (int i = 0; i < 8; ++i) {
                const bool relu = i % 2 == 1, scaled = i % 4 > 1;
                const std::size_t lines = draws.size(1, 3), pixels = draws.size(1, 9), planes = draws.size(1, 3),
                                  kernel = draws.size(1, 4), padded = (channels + 15) / 16 * 16,
                                  width = 2 * pixels + kernel - 1, plane = width * (2 * lines + kernel - 1),
                                  taps = planes * kernel * kernel;
                CAPTURE(channels);
                CAPTURE(pixels);
                Floats x(planes * plane + 2 * kPixelsAtOnce, NAN), weights = draws.floats(taps * padded);
                // Few distinct values, so that some are equal; and one NaN.
                for (std::size_t p = 0; p < planes * plane; ++p)
                    x[kPixelsAtOnce + p] = static_cast<float>(draws.size(0, 2)) - 1.0F;
                for (float& weight : weights) weight = std::round(weight);
                x[kPixelsAtOnce + plane / 2] = NAN;
                const Floats bias = draws.floats(channels), scale = draws.floats(channels);
                std::vector<std::int32_t> at;
                for (std::size_t k1 = 0; k1 < kernel; ++k1)
                    for (std::size_t k2 = 0; k2 < kernel; ++k2)
                        for (std::size_t in = 0; in < planes; ++in)
                            at.push_back(static_cast<std::int32_t>(in * plane + k1 * width + k2));
                std::vector<std::uint8_t> expected(lines * pixels * channels);
                Floats values(expected.size());
                for (std::size_t n = 0; n < values.size(); ++n) {
                    const std::size_t c = n % channels, p = n / channels % pixels, line = n / channels / pixels;
                    float best = 0.0F;
                    for (std::size_t q = 0; q < kMasked; ++q) {
                        const float* from = x.data() + kPixelsAtOnce + (2 * line + q / 2) * width + 2 * p + q % 2;
                        float sum = 0.0F;
                        for (std::size_t k = 0; k < taps; ++k) sum = std::fma(weights[k * padded + c], from[at[k]], sum);
                        if (q > 0 && !(sum > best) && !std::isnan(sum)) continue;
                        best = sum;
                        expected[n] = static_cast<std::uint8_t>(q);
                    }
                    best = (best + bias[c]) * (scaled ? scale[c] : 1.0F);
                    if (relu && best <= 0.0F) expected[n] = kMasked;
                    values[n] = std::isnan(best) ? 77.0F : expected[n] == kMasked ? 0.0F : best;
                }
                const Floats found = agreed([&](const Kernels& kernels) {
                    Floats y(values.size());
                    std::vector<std::uint8_t> argmax(values.size(), 99);
                    kernels.convolve_pool2x2({.x = x.data() + kPixelsAtOnce,
                                              .x_line = stride(width),
                                              .at = at.data(),
                                              .weights = weights.data(),
                                              .taps = taps,
                                              .bias = bias.data(),
                                              .scale = scaled ? scale.data() : nullptr,
                                              .y = y.data(),
                                              .argmax = argmax.data(),
                                              .lines = lines,
                                              .pixels = pixels,
                                              .channels = channels,
                                              .padded = padded,
                                              .relu = relu});
                    CHECK(argmax == expected);
                    for (float& value : y)
                        if (std::isnan(value)) value = 77.0F;  // NaNs differ in bits that mean nothing
                    return y;
                });
                CHECK(same_bits(found, values));
            }
    }

    // The same terms in the same order as the sparse lists.
    TEST_CASE("GreyImagesAreSummedAsByLists") {
        Draws draws(23);
        for (std::size_t kernel = 1; kernel <= kMostSingleChannelTaps; ++kernel)
            for (const std::size_t channels : {1U, 10U, 16U, 20U, 33U}) {
                CAPTURE(kernel);
                CAPTURE(channels);
                const std::size_t lines = draws.size(1, 4), pixels = draws.size(1, 5), padded = (channels + 15) / 16 * 16,
                                  width = 2 * pixels + kernel - 1, taps = kernel * kernel;
                Floats x = draws.floats(width * (2 * lines + kernel - 1)), values = draws.floats(lines * pixels * channels);
                x[0] = INFINITY;  // must not reach channels without a nonzero there
                const Floats before = draws.floats(taps * padded), bias = draws.floats(channels);
                std::vector<std::uint8_t> argmax(values.size());
                for (std::size_t i = 0; i < values.size(); ++i) {
                    argmax[i] = static_cast<std::uint8_t>(i < channels ? kMasked : draws.size(0, kMasked));
                    if (draws.chance(0.2)) values[i] = draws.chance(0.5) ? 0.0F : -0.0F;
                }
                const Floats found = agreed([&](const Kernels& kernels) {
                    Floats sums = before, of_bias = bias;
                    sums[0] = -0.0F;
                    kernels.single_channel_gradient({.x = x.data(),
                                                     .x_line = stride(width),
                                                     .values = values.data(),
                                                     .argmax = argmax.data(),
                                                     .lines = lines,
                                                     .pixels = pixels,
                                                     .channels = channels,
                                                     .padded = padded,
                                                     .kernel = kernel,
                                                     .sums = sums.data(),
                                                     .bias_sums = of_bias.data()});
                    sums.insert(sums.end(), of_bias.begin(), of_bias.end());
                    return sums;
                });
                for (std::size_t c = 0; c < channels; ++c) {
                    float of_bias = bias[c];
                    for (std::size_t tap = 0; tap < taps; ++tap) {
                        float sum = tap + c == 0 ? -0.0F : before[tap * padded + c];
                        for (std::size_t p = 0; p < lines * pixels; ++p) {
                            const std::size_t at = p * channels + c, q = argmax[at];
                            if (q == kMasked || values[at] == 0.0F) continue;
                            if (tap == 0) of_bias += values[at];
                            const std::size_t line = 2 * (p / pixels) + q / 2 + tap / kernel,
                                              pixel = 2 * (p % pixels) + q % 2 + tap % kernel;
                            sum = std::fma(values[at], x[line * width + pixel], sum);
                        }
                        REQUIRE(same_bits({found[tap * padded + c]}, {sum}));
                    }
                    REQUIRE(found[taps * padded + c] == of_bias);
                }
            }
    }
}
