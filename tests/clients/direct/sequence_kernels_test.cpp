// Kernels of layers on sequences against their formulas in double; the same bits from all instruction sets.
#include "tests/clients/direct/kernel_sets.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace fedhive;
using namespace fedhive::clients::direct;
using fedhive::testing::agreed;
using fedhive::testing::Draws;
using fedhive::testing::Floats;
using fedhive::testing::Kernels;

namespace {

double below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }

double of(const Floats& values, std::size_t i) { return static_cast<double>(values[i]); }

}  // namespace

TEST_SUITE("SequenceKernels") {
    TEST_CASE("GeluIsXTimesTheNormalDistributionFunction") {
        Floats x;
        for (float value = -15.0F; value <= 15.0F; value += 0.0037F) x.push_back(value);
        for (const float value : {0.0F, -0.0F, 1e-20F, -1e-20F, 1e30F, -1e30F}) x.push_back(value);
        const Floats y = agreed([&](const Kernels& kernels) {
            Floats out(x.size());
            kernels.gelu(x.data(), out.data(), x.size());
            return out;
        });
        const Floats slopes = agreed([&](const Kernels& kernels) {
            Floats out(x.size()), ones(x.size(), 2.0F);
            kernels.gelu_gradient(x.data(), ones.data(), out.data(), x.size());
            return out;
        });
        for (std::size_t i = 0; i < x.size(); ++i) {
            CAPTURE(x[i]);
            const double value = of(x, i), wanted = value * below(value);
            CHECK(std::abs(of(y, i) - wanted) <= 4e-7 * std::abs(value));
            if (value > -5.0) CHECK(std::abs(of(y, i) - wanted) <= 1e-6 * std::abs(wanted));  // in the tail, too
            CHECK(std::abs(of(slopes, i) - 2.0 * (below(value) + value * density(value))) <= 2e-6);
        }
        const Floats lost = agreed([](const Kernels& kernels) {
            Floats out{NAN};
            kernels.gelu(out.data(), out.data(), 1);
            return out;
        });
        CHECK(std::isnan(lost[0]));
    }

    TEST_CASE("RowNormAndItsGradientAreTheFormulas") {
        Draws draws(5);
        for (const std::size_t features : {1U, 5U, 16U, 17U, 40U}) {
            const std::size_t rows = draws.size(1, 5);
            const Floats x = draws.floats(rows * features), weight = draws.floats(features), bias = draws.floats(features),
                         gradient = draws.floats(rows * features);
            const auto run = [&](const Kernels& kernels) {
                Floats out(rows * features), mean(rows), inverse(rows), weight_sums(features, 1.0F), bias_sums(features, 2.0F),
                    x_gradient(rows * features);
                kernels.row_norm(
                    {x.data(), weight.data(), bias.data(), out.data(), mean.data(), inverse.data(), rows, features});
                kernels.row_norm_back({x.data(), gradient.data(), weight.data(), mean.data(), inverse.data(),
                                       weight_sums.data(), bias_sums.data(), x_gradient.data(), rows, features});
                for (const Floats* each : {&x_gradient, &weight_sums, &bias_sums})
                    out.insert(out.end(), each->begin(), each->end());
                return out;
            };
            const Floats found = agreed(run);
            std::vector<double> weight_sums(features, 1.0), bias_sums(features, 2.0);
            const auto n = static_cast<double>(features);
            for (std::size_t r = 0; r < rows; ++r) {
                double mean = 0.0, variance = 0.0, sum = 0.0, along = 0.0;
                for (std::size_t c = 0; c < features; ++c) mean += of(x, r * features + c) / n;
                for (std::size_t c = 0; c < features; ++c) variance += std::pow(of(x, r * features + c) - mean, 2) / n;
                const double inverse = 1.0 / std::sqrt(variance + 1e-5);
                const auto normed = [&](std::size_t c) { return (of(x, r * features + c) - mean) * inverse; };
                for (std::size_t c = 0; c < features; ++c) {
                    CHECK(of(found, r * features + c) ==
                          doctest::Approx(normed(c) * of(weight, c) + of(bias, c)).epsilon(1e-5).scale(1.0));
                    const double g = of(gradient, r * features + c);
                    weight_sums[c] += g * normed(c);
                    bias_sums[c] += g;
                    sum += g * of(weight, c) / n;
                    along += g * of(weight, c) * normed(c) / n;
                }
                for (std::size_t c = 0; c < features && features > 1; ++c)
                    CHECK(of(found, (rows + r) * features + c) ==
                          doctest::Approx(inverse * (of(gradient, r * features + c) * of(weight, c) - sum - normed(c) * along))
                              .epsilon(1e-4)
                              .scale(1.0));
            }
            for (std::size_t c = 0; c < features; ++c) {
                CHECK(of(found, 2 * rows * features + c) == doctest::Approx(weight_sums[c]).epsilon(1e-5).scale(1.0));
                CHECK(of(found, (2 * rows + 1) * features + c) == doctest::Approx(bias_sums[c]).epsilon(1e-5).scale(1.0));
            }
        }
    }

    TEST_CASE("SoftmaxAndItsGradientAreTheFormulasAndCausalRowsSeeNoLaterColumn") {
        Draws draws(6);
        for (const std::size_t size : {1U, 6U, 16U, 17U, 35U})
            for (const bool causal : {false, true}) {
                Floats scores = draws.floats(size * size);
                const Floats gradient = draws.floats(size * size);
                if (causal)
                    for (std::size_t r = 0; r < size; ++r)
                        for (std::size_t c = r + 1; c < size; ++c) scores[r * size + c] = 1e30F;
                const float scale = 0.7F;
                const Floats found = agreed([&](const Kernels& kernels) {
                    Floats shares = scores, moved = gradient;
                    kernels.softmax({shares.data(), size, size, scale, causal});
                    kernels.softmax_gradient({shares.data(), moved.data(), size, size, scale});
                    shares.insert(shares.end(), moved.begin(), moved.end());
                    return shares;
                });
                for (std::size_t r = 0; r < size; ++r) {
                    const std::size_t counted = causal ? r + 1 : size;
                    double total = 0.0, mean = 0.0;
                    const auto power = [&](std::size_t c) { return std::exp(0.7 * of(scores, r * size + c)); };
                    for (std::size_t c = 0; c < counted; ++c) total += power(c);
                    for (std::size_t c = 0; c < counted; ++c) mean += power(c) / total * of(gradient, r * size + c);
                    for (std::size_t c = 0; c < size; ++c) {
                        const double share = c < counted ? power(c) / total : 0.0;
                        CHECK(of(found, r * size + c) == doctest::Approx(share).epsilon(1e-5));
                        CHECK(of(found, (size + r) * size + c) ==
                              doctest::Approx(0.7 * share * (of(gradient, r * size + c) - mean)).epsilon(1e-4).scale(1.0));
                    }
                }
            }
    }

    TEST_CASE("LstmCellAndItsGradientAreTheFormulasAlsoFarFromZero") {
        Draws draws(7);
        const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
        for (const std::size_t hidden : {1U, 16U, 21U, 64U, 150U})  // of the last two some vectors are computed together
            for (const bool first : {false, true})
                for (const float scale : {1.0F, 60.0F}) {
                    constexpr std::size_t kRows = 2;
                    const std::size_t row = hidden + 3, size = kRows * row;
                    Floats gates = draws.floats(4 * size);
                    for (float& gate : gates) gate *= scale;
                    const Floats before = draws.floats(size), gradient = draws.floats(size),
                                 later = draws.floats(kRows * hidden), of_cell = draws.floats(kRows * hidden);
                    const float *earlier = first ? nullptr : before.data(), *next = first ? nullptr : later.data();
                    const Floats found = agreed([&](const Kernels& kernels) {
                        Floats moved = gates, cell(size, NAN), bounded(size), state(size, NAN), cell_gradient = of_cell;
                        kernels.lstm_cell(
                            {moved.data(), earlier, cell.data(), bounded.data(), state.data(), hidden, kRows, row});
                        kernels.lstm_cell_back({moved.data(), earlier, bounded.data(), gradient.data(), next,
                                                cell_gradient.data(), hidden, kRows, row});
                        for (const Floats* each : {&cell, &state, &cell_gradient})
                            moved.insert(moved.end(), each->begin(), each->end());
                        return moved;
                    });
                    for (std::size_t r = 0; r < kRows; ++r)
                        for (std::size_t c = 0; c < hidden; ++c) {
                            const std::size_t at = r * row + c, beside = r * hidden + c;
                            const auto gate = [&](std::size_t which) { return 4 * r * row + which * hidden + c; };
                            const double i = sigmoid(of(gates, gate(0))), f = sigmoid(of(gates, gate(1))),
                                         g = std::tanh(of(gates, gate(2))), o = sigmoid(of(gates, gate(3))),
                                         last = first ? 0.0 : of(before, at), cell = i * g + f * last,
                                         state_slope = of(gradient, at) + (first ? 0.0 : of(later, beside)),
                                         cell_slope =
                                             of(of_cell, beside) + state_slope * o * (1.0 - std::pow(std::tanh(cell), 2));
                            const auto check = [&](std::size_t where, double wanted) {
                                CAPTURE(where);
                                CHECK(of(found, where) == doctest::Approx(wanted).epsilon(1e-5).scale(0.1));
                            };
                            check(gate(0), cell_slope * g * i * (1.0 - i));
                            check(gate(1), cell_slope * last * f * (1.0 - f));
                            check(gate(2), cell_slope * i * (1.0 - g * g));
                            check(gate(3), state_slope * std::tanh(cell) * o * (1.0 - o));
                            check(4 * size + at, cell);
                            check(5 * size + at, o * std::tanh(cell));
                            check(6 * size + beside, cell_slope * f);
                        }
                    for (std::size_t r = 0; r < kRows; ++r)  // what lies between the rows stays
                        for (std::size_t i = 4 * (r * row + hidden); i < 4 * (r + 1) * row; ++i) CHECK(found[i] == gates[i]);
                }
    }

    TEST_CASE("GruCellAndItsGradientAreTheFormulasAlsoFarFromZero") {
        Draws draws(8);
        const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
        for (const std::size_t hidden : {1U, 16U, 21U})
            for (const bool first : {false, true})
                for (const float scale : {1.0F, 60.0F}) {
                    Floats gates = draws.floats(3 * hidden), of_state = draws.floats(3 * hidden);
                    for (Floats* each : {&gates, &of_state})
                        for (float& value : *each) value *= scale;
                    const Floats before = draws.floats(hidden), gradient = draws.floats(hidden), later = draws.floats(hidden);
                    const float* earlier = first ? nullptr : before.data();
                    const Floats found = agreed([&](const Kernels& kernels) {
                        Floats moved = gates, beside = of_state, state(hidden), state_gradient = later;
                        kernels.gru_cell({moved.data(), beside.data(), earlier, state.data(), hidden});
                        kernels.gru_cell_back(
                            {moved.data(), beside.data(), earlier, gradient.data(), state_gradient.data(), hidden});
                        for (const Floats* each : {&beside, &state, &state_gradient})
                            moved.insert(moved.end(), each->begin(), each->end());
                        return moved;
                    });
                    for (std::size_t c = 0; c < hidden; ++c) {
                        const double r = sigmoid(of(gates, c) + of(of_state, c)),
                                     z = sigmoid(of(gates, hidden + c) + of(of_state, hidden + c)),
                                     m = of(of_state, 2 * hidden + c), n = std::tanh(of(gates, 2 * hidden + c) + r * m),
                                     last = first ? 0.0 : of(before, c), slope = of(gradient, c) + of(later, c),
                                     of_n = slope * (1.0 - z) * (1.0 - n * n), of_r = of_n * m * r * (1.0 - r),
                                     of_z = slope * (last - n) * z * (1.0 - z);
                        const double wanted[]{of_r, of_z, of_n, of_r, of_z, of_n * r, (1.0 - z) * n + z * last, slope * z};
                        for (std::size_t which = 0; which < std::size(wanted); ++which) {
                            CAPTURE(which);
                            CHECK(of(found, which * hidden + c) == doctest::Approx(wanted[which]).epsilon(1e-5).scale(0.1));
                        }
                    }
                }
    }
}
