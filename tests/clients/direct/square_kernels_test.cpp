// What is made for the squares of a pool against plain loops, of all instruction sets bit by bit.
#include "tests/clients/direct/kernel_sets.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients::direct;
using namespace fedhive::testing;

TEST_SUITE("DirectSquareKernels") {
    // Term by term, as lists and their sums have it.
    TEST_CASE("GreyImagesAreSummedAsByLists") {
        Draws draws(23);
        for (std::size_t kernel = 1; kernel <= kMostGreyTaps; ++kernel)
            for (const std::size_t channels : {1U, 10U, 16U, 20U, 33U}) {
                CAPTURE(kernel);
                CAPTURE(channels);
                const std::size_t lines = draws.size(1, 4), pixels = draws.size(1, 5), padded = (channels + 15) / 16 * 16,
                                  width = 2 * pixels + kernel - 1, taps = kernel * kernel;
                Floats x = draws.floats(width * (2 * lines + kernel - 1)), values = draws.floats(lines * pixels * channels);
                x[0] = INFINITY;  // of which no channel with nothing to add hears
                const Floats before = draws.floats(taps * padded), bias = draws.floats(channels);
                std::vector<std::uint8_t> which(values.size());
                for (std::size_t i = 0; i < values.size(); ++i) {
                    which[i] = static_cast<std::uint8_t>(i < channels ? kClosed : draws.size(0, kClosed));
                    if (draws.chance(0.2)) values[i] = draws.chance(0.5) ? 0.0F : -0.0F;
                }
                const Floats found = agreed([&](const Kernels& kernels) {
                    Floats sums = before, of_bias = bias;
                    sums[0] = -0.0F;
                    kernels.grey_sums({.x = x.data(),
                                       .x_line = stride(width),
                                       .values = values.data(),
                                       .which = which.data(),
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
                            const std::size_t at = p * channels + c, q = which[at];
                            if (q == kClosed || values[at] == 0.0F) continue;
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
