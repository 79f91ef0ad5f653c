// The kernels of norms against plain loops in double, and all instruction sets against each other, bit by bit.
#include "tests/clients/direct/kernel_sets.h"

#include <algorithm>

using namespace fedhive;
using namespace fedhive::testing;

TEST_SUITE("NormKernels") {
    TEST_CASE("NormsOfChannelsAreThoseOfPlainLoops") {
        Draws draws(21);
        for (int i = 0; i < 60; ++i) {
            const std::size_t pixels = draws.size(1, 200), channels = draws.size(1, 40);
            CAPTURE(pixels);
            CAPTURE(channels);
            const Floats x = draws.floats(pixels * channels), gradient = draws.floats(pixels * channels),
                         mean = draws.floats(channels), scale = draws.floats(channels), shift = draws.floats(channels),
                         constant = draws.floats(channels);
            const bool relu = draws.chance(0.5);
            const auto expect = [&](const Floats& found, std::size_t at, double wanted, double size) {
                REQUIRE(static_cast<double>(found[at]) == doctest::Approx(wanted).epsilon(2e-6).scale(size));
            };
            const auto off = [&](std::size_t p, std::size_t c) {
                return static_cast<double>(x[p * channels + c]) - static_cast<double>(mean[c]);
            };
            const Floats y = agreed([&](const Kernels& kernels) {
                Floats out(pixels * channels);
                kernels.norm_rows({x.data(), mean.data(), scale.data(), shift.data(), out.data(), pixels, channels, relu});
                return out;
            });
            const auto g = [&](std::size_t p, std::size_t c) {
                const std::size_t at = p * channels + c;
                return relu && y[at] <= 0.0F ? 0.0 : static_cast<double>(gradient[at]);
            };
            const float* cut = relu ? y.data() : nullptr;
            const Floats sums = agreed([&](const Kernels& kernels) {
                std::vector<double> all(4 * channels, 7.0);  // old values must be overwritten
                double *plain = all.data(), *squares = plain + channels, *of_g = squares + channels, *along = of_g + channels;
                kernels.channel_sums({x.data(), nullptr, pixels, channels, plain});
                kernels.channel_sums({x.data(), mean.data(), pixels, channels, squares});
                kernels.norm_sums({x.data(), gradient.data(), cut, mean.data(), pixels, channels, of_g, along});
                return Floats(all.begin(), all.end());
            });
            const Floats back = agreed([&](const Kernels& kernels) {
                Floats out(pixels * channels);
                kernels.norm_back({x.data(), gradient.data(), cut, mean.data(), scale.data(), shift.data(), constant.data(),
                                   out.data(), pixels, channels});
                return out;
            });
            const auto size = static_cast<double>(pixels);
            for (std::size_t c = 0; c < channels; ++c) {
                double plain = 0.0, squares = 0.0, of_g = 0.0, along = 0.0;
                const auto by = [&](const Floats& of) { return static_cast<double>(of[c]); };
                for (std::size_t p = 0; p < pixels; ++p) {
                    plain += static_cast<double>(x[p * channels + c]);
                    squares += off(p, c) * off(p, c);
                    of_g += g(p, c);
                    along += g(p, c) * off(p, c);
                    const double value = off(p, c) * by(scale) + by(shift);
                    expect(y, p * channels + c, relu ? std::max(value, 0.0) : value, 1.0);
                    expect(back, p * channels + c, g(p, c) * by(scale) + off(p, c) * by(shift) + by(constant), 1.0);
                }
                expect(sums, c, plain, size);
                expect(sums, channels + c, squares, size);
                expect(sums, 2 * channels + c, of_g, size);
                expect(sums, 3 * channels + c, along, size);
            }
        }
    }

    TEST_CASE("BiasGradientsAreSumsInTheOrderOfPixelsOfTheMaskedGradient") {
        Draws draws(4);
        constexpr std::size_t kPixels = 9;
        for (const std::size_t channels : {1U, 16U, 63U, 64U, 150U})  // from 64 on by strips
            for (const bool masked : {false, true}) {
                const Floats gradient = draws.floats(kPixels * channels), y = draws.floats(kPixels * channels);
                Floats wanted(channels, 0.5F);
                wanted.resize(channels + kPixels * channels);
                for (std::size_t i = 0; i < kPixels * channels; ++i) {
                    const float one = masked && y[i] <= 0.0F ? 0.0F : gradient[i];
                    wanted[i % channels] += one;
                    wanted[channels + i] = masked ? one : 0.0F;
                }
                const Floats found = agreed([&](const Kernels& kernels) {
                    Floats sums(channels, 0.5F), to(kPixels * channels);
                    kernels.bias_relu_backward({.gradient = gradient.data(),
                                                .y = masked ? y.data() : nullptr,
                                                .to = masked ? to.data() : nullptr,
                                                .bias_sums = sums.data(),
                                                .pixels = kPixels,
                                                .channels = channels});
                    sums.insert(sums.end(), to.begin(), to.end());
                    return sums;
                });
                CHECK(same_bits(found, wanted));
            }
    }
}
