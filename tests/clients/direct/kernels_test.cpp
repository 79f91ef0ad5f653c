// Every kernel against plain loops in double, and the kernels of all instruction sets against each other, bit by bit.
#include "tests/clients/direct/kernel_sets.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients::direct;
using namespace fedhive::testing;

TEST_SUITE("DirectKernels") {
    TEST_CASE("ThisProcessorsOwnAreAmongThem") {
        CHECK(kernels_by_name("plain") != nullptr);
        CHECK(kernels_by_name("abacus") == nullptr);
        CHECK(kernels_by_name(kernels().name) == &kernels());
    }

    TEST_CASE("PlainOnesSayHowSlowTheyAre") {
        for (const char* fast : {"avx512", "avx2"}) CHECK(remark_on(fast).empty());
        CHECK(remark_on("plain").starts_with(": slow, "));
        CHECK((remark_on("plain") == remark_on_plain(true, true)) == (kernels_by_name("avx2") != nullptr));
        CHECK(remark_on_plain(true, true) == ": slow, 1/40 to 1/72 of the speed of avx2");
        CHECK(remark_on_plain(false, false) ==
              ": slow, 1/560 to 1/1,000 of the speed with AVX2, which this processor does not have; training.engine: libtorch "
              "may be faster");
        CHECK(remark_on_plain(false, true).starts_with(": slow, 1/40 to 1/72 of the speed with AVX2, which"));
    }

    TEST_CASE("SumsAreCutOffWhereTheyAreAskedToBe") {
        Draws draws(21);
        for (const std::size_t size : {1U, 15U, 16U, 100U})
            for (const bool relu : {false, true}) {
                Floats a = draws.floats(size);
                const Floats b = draws.floats(size);
                a[size / 2] = NAN;
                const Floats found = agreed([&](const Kernels& kernels) {
                    Floats y = a;
                    kernels.add(y.data(), b.data(), y.data(), size, relu);
                    return y;
                });
                for (std::size_t i = 0; i < size; ++i) {
                    if (i == size / 2)
                        CHECK(std::isnan(found[i]));
                    else
                        CHECK(found[i] == (relu ? std::max(a[i] + b[i], 0.0F) : a[i] + b[i]));
                }
            }
    }

    TEST_CASE("DotProductsOfAnyLength") {
        Draws draws(2);
        for (const std::size_t length : {1U, 7U, 16U, 17U, 50U, 784U, 2047U, 2048U, 2049U, 5000U}) {
            const std::size_t rows = draws.size(1, 9), outputs = draws.size(1, 11);
            CAPTURE(length);
            const Floats x = draws.floats(rows * length), w = draws.floats(outputs * length), bias = draws.floats(outputs);
            const Floats found = agreed([&](const Kernels& kernels) {
                Floats y(rows * outputs);
                kernels.dot({.x = x.data(),
                             .x_row = stride(length),
                             .w = w.data(),
                             .w_row = stride(length),
                             .bias = bias.data(),
                             .y = y.data(),
                             .y_row = stride(outputs),
                             .rows = rows,
                             .outputs = outputs,
                             .length = length});
                return y;
            });
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t o = 0; o < outputs; ++o) {
                    auto sum = static_cast<double>(bias[o]);
                    for (std::size_t i = 0; i < length; ++i)
                        sum += static_cast<double>(x[r * length + i]) * static_cast<double>(w[o * length + i]);
                    REQUIRE(static_cast<double>(found[r * outputs + o]) ==
                            doctest::Approx(sum).epsilon(1e-5).scale(std::sqrt(static_cast<double>(length))));
                }
        }
    }

    TEST_CASE("SparseUpdatesAreSumsOfRowsInOneOrder") {
        Draws draws(3);
        for (int i = 0; i < 60; ++i) {
            const std::size_t rows = draws.size(1, 7), columns = draws.size(1, 130), count = draws.size(0, 12);
            CAPTURE(rows);
            CAPTURE(columns);
            const std::size_t m_row = columns + 3;
            const Floats m = draws.floats(rows * m_row + 40), values = draws.floats(count + 1),
                         before = draws.floats(rows * columns);
            std::vector<std::int32_t> at(count + 1);
            for (std::int32_t& one : at) one = static_cast<std::int32_t>(draws.size(0, 37));
            const Floats found = agreed([&](const Kernels& kernels) {
                Floats out = before;
                kernels.sparse_update({.out = out.data(),
                                       .out_row = stride(columns),
                                       .m = m.data(),
                                       .m_row = stride(m_row),
                                       .rows = rows,
                                       .columns = columns,
                                       .at = at.data(),
                                       .values = values.data(),
                                       .count = count});
                return out;
            });
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < columns; ++c) {
                    auto sum = static_cast<double>(before[r * columns + c]);
                    for (std::size_t n = 0; n < count; ++n)
                        sum += static_cast<double>(values[n]) *
                               static_cast<double>(m[static_cast<std::size_t>(at[n]) + r * m_row + c]);
                    REQUIRE(static_cast<double>(found[r * columns + c]) == doctest::Approx(sum).epsilon(1e-5).scale(1.0));
                }
        }
    }

    TEST_CASE("PoolsTakeTheFirstOfEqualOnesAndKeepWhatIsNotANumber") {
        Draws draws(4);
        constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
        for (const std::size_t channels : {1U, 10U, 16U, 20U, 33U}) {
            const std::size_t pixels = 3, padded = (channels + 15) / 16 * 16;
            Floats upper = draws.floats(2 * pixels * padded), lower = draws.floats(2 * pixels * padded);
            lower[0] = upper[0] = 5.0F;         // equal, so the upper one wins
            lower[padded + 2 * padded] = kNan;  // the second window's last value
            const Floats bias = draws.floats(channels), scale = [&] {
                Floats values(channels, 2.0F);
                values.back() = channels > 1 ? 0.0F : 2.0F;
                return values;
            }();
            for (const bool relu : {false, true}) {
                const auto pool = [&](const Kernels& kernels, std::vector<std::uint8_t>& argmax) {
                    Floats y(pixels * channels);
                    argmax.assign(pixels * channels, 99);
                    kernels.pool2x2({.upper = upper.data(),
                                     .lower = lower.data(),
                                     .bias = bias.data(),
                                     .scale = scale.data(),
                                     .y = y.data(),
                                     .argmax = argmax.data(),
                                     .pixels = pixels,
                                     .channels = channels,
                                     .padded = padded,
                                     .relu = relu});
                    return y;
                };
                std::vector<std::uint8_t> expected;
                const Floats found = agreed([&](const Kernels& kernels) {
                    std::vector<std::uint8_t> argmax;
                    Floats y = pool(kernels, argmax);
                    if (expected.empty()) expected = argmax;
                    CHECK(argmax == expected);
                    for (float& value : y)
                        if (std::isnan(value)) value = 77.0F;  // NaN payloads differ
                    return y;
                });
                CHECK(expected[0] == 0);
                CHECK(found[channels] == 77.0F);
                for (std::size_t p = 0; p < pixels; ++p)
                    for (std::size_t c = 0; c < channels; ++c) {
                        if (p == 1 && c == 0) continue;
                        const std::array four{upper[2 * p * padded + c], upper[(2 * p + 1) * padded + c],
                                              lower[2 * p * padded + c], lower[(2 * p + 1) * padded + c]};
                        std::size_t best = 0;
                        for (std::size_t q = 1; q < 4; ++q)
                            if (four[q] > four[best]) best = q;
                        const float value = (four[best] + bias[c]) * scale[c];
                        const bool masked = relu && value <= 0.0F;
                        REQUIRE(found[p * channels + c] == (masked ? 0.0F : value));
                        REQUIRE(expected[p * channels + c] == (masked ? kMasked : best));
                    }
            }
        }
    }

    TEST_CASE("ListsHoldWhatIsNotZeroInOrder") {
        Draws draws(5);
        const std::size_t pixels = 12;
        for (const std::size_t channels : {1U, 10U, 20U, 40U}) {
            const std::size_t padded = (channels + 15) / 16 * 16;
            Floats values = draws.floats(pixels * channels);
            std::vector<std::uint8_t> argmax(values.size());
            for (std::size_t i = 0; i < values.size(); ++i) {
                argmax[i] = static_cast<std::uint8_t>(draws.size(0, kMasked));
                if (draws.chance(0.2)) values[i] = 0.0F;
            }
            std::vector<std::int32_t> at_pixel(pixels), at_channel(padded), at_window{0, 1, 10, 11, 0};
            for (std::size_t p = 0; p < pixels; ++p) at_pixel[p] = static_cast<std::int32_t>(100 * p);
            for (std::size_t c = 0; c < padded; ++c) at_channel[c] = static_cast<std::int32_t>(7 * c);
            for (const Kernels* kernels : all_kernels()) {
                CAPTURE(kernels->name);
                for (std::size_t c = 0; c < channels; ++c) {
                    std::vector<std::int32_t> at(pixels + 1), expected_at;
                    Floats listed(pixels + 1), expected;
                    for (std::size_t p = 0; p < pixels; ++p) {
                        const std::size_t i = p * channels + c;
                        if (argmax[i] == kMasked || values[i] == 0.0F) continue;
                        expected_at.push_back(at_pixel[p] + at_window[argmax[i]] + 5);
                        expected.push_back(values[i]);
                    }
                    const std::size_t count = kernels->sparse_channel_gradient({.values = values.data() + c,
                                                                                .argmax = argmax.data() + c,
                                                                                .stride = channels,
                                                                                .pixels = pixels,
                                                                                .at_pixel = at_pixel.data(),
                                                                                .at_window = at_window.data(),
                                                                                .add = 5,
                                                                                .at = at.data(),
                                                                                .listed = listed.data()});
                    at.resize(count);
                    listed.resize(count);
                    CHECK(at == expected_at);
                    CHECK(same_bits(listed, expected));
                }
                for (std::size_t p = 0; p < pixels; ++p) {
                    SparsePixelGradient list{.values = values.data() + p * channels,
                                             .argmax = argmax.data() + p * channels,
                                             .at_channel = at_channel.data(),
                                             .channels = channels};
                    std::array<std::vector<std::int32_t>, kMasked> at;
                    std::array<Floats, kMasked> listed;
                    for (std::size_t q = 0; q < kMasked; ++q) {
                        at[q].resize(channels + 16);
                        listed[q].resize(channels + 16);
                        list.at[q] = at[q].data();
                        list.listed[q] = listed[q].data();
                    }
                    kernels->sparse_pixel_gradient(list);
                    for (std::size_t q = 0; q < kMasked; ++q) {
                        std::vector<std::int32_t> expected_at;
                        Floats expected;
                        for (std::size_t c = 0; c < channels; ++c) {
                            if (argmax[p * channels + c] != q || values[p * channels + c] == 0.0F) continue;
                            expected_at.push_back(at_channel[c]);
                            expected.push_back(values[p * channels + c]);
                        }
                        REQUIRE(list.counts[q] == expected.size());
                        at[q].resize(list.counts[q]);
                        listed[q].resize(list.counts[q]);
                        CHECK(at[q] == expected_at);
                        CHECK(same_bits(listed[q], expected));
                    }
                }
            }
        }
    }

    TEST_CASE("SoftmaxLossAndItsGradient") {
        Draws draws(6);
        for (const std::size_t classes : {2U, 10U, 16U, 62U}) {
            CAPTURE(classes);
            const std::size_t rows = 5;
            Floats scores = draws.floats(rows * classes);
            for (float& score : scores) score *= 10.0F;
            scores[1] = 500.0F;  // the others underflow to 0
            scores[classes] = -500.0F;
            std::vector<std::int64_t> labels(rows);
            for (std::int64_t& label : labels) label = static_cast<std::int64_t>(draws.size(0, classes - 1));
            std::vector<double> losses;
            const Floats found = agreed([&](const Kernels& kernels) {
                Floats gradient = scores;
                losses.push_back(kernels.softmax_loss(
                    {.scores = gradient.data(), .labels = labels.data(), .rows = rows, .classes = classes, .weight = 0.25F}));
                return gradient;
            });
            double expected = 0.0;
            for (std::size_t r = 0; r < rows; ++r) {
                double total = 0.0, largest = -1e300;
                for (std::size_t c = 0; c < classes; ++c)
                    largest = std::max(largest, static_cast<double>(scores[r * classes + c]));
                for (std::size_t c = 0; c < classes; ++c)
                    total += std::exp(static_cast<double>(scores[r * classes + c]) - largest);
                const auto label = static_cast<std::size_t>(labels[r]);
                expected += std::log(total) + largest - static_cast<double>(scores[r * classes + label]);
                for (std::size_t c = 0; c < classes; ++c) {
                    const double share = std::exp(static_cast<double>(scores[r * classes + c]) - largest) / total;
                    REQUIRE(static_cast<double>(found[r * classes + c]) ==
                            doctest::Approx(0.25 * (share - (c == label ? 1.0 : 0.0))).epsilon(1e-5).scale(0.01));
                }
            }
            for (const double loss : losses) {
                CHECK(loss == losses.front());
                CHECK(loss == doctest::Approx(expected).epsilon(1e-6));
            }
        }
        Floats broken{1.0F, std::numeric_limits<float>::quiet_NaN()};
        const std::int64_t label = 0;
        for (const Kernels* kernels : all_kernels()) {
            Floats scores = broken;
            CHECK(std::isnan(
                kernels->softmax_loss({.scores = scores.data(), .labels = &label, .rows = 1, .classes = 2, .weight = 1.0F})));
        }
    }

    TEST_CASE("TanhIsRightToTheLastDigits") {
        Floats x;
        for (float value = -12.0F; value < 12.0F; value += 0.0037F) x.push_back(value);
        x.push_back(1e-20F);
        x.push_back(100.0F);
        const Floats found = agreed([&](const Kernels& kernels) {
            Floats y(x.size());
            kernels.tanh(x.data(), y.data(), x.size());
            return y;
        });
        for (std::size_t i = 0; i < x.size(); ++i)
            REQUIRE(static_cast<double>(found[i]) ==
                    doctest::Approx(std::tanh(static_cast<double>(x[i]))).epsilon(3e-7).scale(0.0));
    }

    TEST_CASE("DropoutDropsTheShareItIsToldAndIndependently") {
        const std::size_t size = 1 << 18;
        const Floats ones(size, 1.0F);
        for (const double p : {0.1, 0.5, 0.9}) {
            CAPTURE(p);
            const auto threshold = static_cast<std::uint32_t>(p * 4294967296.0);
            const auto dropout = [&](const Kernels& kernels, std::uint64_t key, std::uint32_t first) {
                Floats y(size);
                kernels.dropout(ones.data(), y.data(), size, key, first, threshold, 3.0F);
                return y;
            };
            const Floats found = agreed([&](const Kernels& kernels) { return dropout(kernels, 0x1234'5678'9ABCU, 7); });
            // Five standard errors, for the share and for correlations of neighbours, of keys one bit apart,
            // and of positions 28 apart.
            const auto dropped = [](float value) { return value == 0.0F ? 1.0 : 0.0; };
            const double error = 5.0 * std::sqrt(p * (1.0 - p) / size);
            double share = 0.0;
            for (const float value : found) share += dropped(value) / size;
            CHECK(std::abs(share - p) < error);
            const Floats other = dropout(kernels(), 0x1234'5678'9ABDU, 7),
                         shifted = dropout(kernels(), 0x1234'5678'9ABCU, 7 + 28);
            for (const Floats& second : {other, shifted, dropout(kernels(), 0x1235'5678'9ABCU, 7)}) {
                double both = 0.0;
                for (std::size_t i = 0; i < size; ++i) both += dropped(found[i]) * dropped(second[i]) / size;
                CHECK(std::abs(both - p * p) < error);
            }
            double neighbours = 0.0;
            for (std::size_t i = 0; i + 1 < size; ++i) neighbours += dropped(found[i]) * dropped(found[i + 1]) / size;
            CHECK(std::abs(neighbours - p * p) < error);
            CHECK(same_bits({found.begin() + 28, found.end()}, {shifted.begin(), shifted.end() - 28}));
            for (const float value : found) REQUIRE((value == 0.0F || value == 3.0F));
        }
    }
}
