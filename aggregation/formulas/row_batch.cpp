#include "aggregation/formulas/row_batch.h"

#include "aggregation/base/clones.h"
#include "aggregation/base/divide_up.h"
#include "aggregation/formulas/row_kernels.h"

#include <algorithm>
#include <array>

namespace fedhive::aggregation::formulas {

namespace {

using LaneSums = std::array<double, kRowLanes>;

float* lanes_of(const BatchLanes& value, std::size_t group, std::size_t column) {
    return value.first + group * value.stride + column * kRowLanes;
}

std::size_t groups_of(const BatchLanes& value) { return divide_up(value.examples, kRowLanes); }

std::size_t examples_in(const BatchLanes& value, std::size_t group) {
    return std::min(kRowLanes, value.examples - group * kRowLanes);
}

/// The column's sum over the examples, by n.
double mean_of_column(const BatchLanes& value, std::size_t column) {
    double sum = 0.0;
    for (std::size_t group = 0; group < groups_of(value); ++group)
        for (std::size_t l = 0; l < examples_in(value, group); ++l)
            sum += static_cast<double>(lanes_of(value, group, column)[l]);
    return sum / static_cast<double>(value.examples);
}

/// sums[l] = Σ_c lanes[c][l] * one[c * kRowLanes]
FEDHIVE_CLONES void dots_of_lanes(const float* lanes, const float* one, std::size_t columns, double* sums) {
    LaneSums of_lane{};
    for (std::size_t c = 0; c < columns; ++c) {
        const auto factor = static_cast<double>(one[c * kRowLanes]);
        FEDHIVE_ELEMENTWISE
        for (std::size_t l = 0; l < kRowLanes; ++l) of_lane[l] += static_cast<double>(lanes[c * kRowLanes + l]) * factor;
    }
    std::copy(of_lane.begin(), of_lane.end(), sums);
}

/// sums[l] += Σ_s weights[s][l] * column[s], s < examples
FEDHIVE_CLONES void add_weighted(const double* weights, const float* column, std::size_t examples, double* sums) {
    for (std::size_t s = 0; s < examples; ++s) {
        const auto factor = static_cast<double>(column[s]);
        FEDHIVE_ELEMENTWISE
        for (std::size_t l = 0; l < kRowLanes; ++l) sums[l] += weights[s * kRowLanes + l] * factor;
    }
}

double of_example(const BatchLanes& value, std::size_t example) {
    return static_cast<double>(lanes_of(value, example / kRowLanes, 0)[example % kRowLanes]);
}

}  // namespace

void batch_mean(const BatchLanes& x, const BatchLanes& mean) {
    for (std::size_t c = 0; c < x.columns; ++c) {
        const auto value = static_cast<float>(mean_of_column(x, c));
        for (std::size_t group = 0; group < groups_of(x); ++group) std::fill_n(lanes_of(mean, group, c), kRowLanes, value);
    }
}

void add_back_of_batch_mean(const BatchLanes& gradient, const BatchLanes& to) {
    for (std::size_t c = 0; c < to.columns; ++c) {
        const auto part = static_cast<float>(mean_of_column(gradient, c));
        for (std::size_t group = 0; group < groups_of(to); ++group)
            for (std::size_t l = 0; l < kRowLanes; ++l) lanes_of(to, group, c)[l] += part;
    }
}

void batch_square(const BatchLanes& x, const BatchLanes& square, std::vector<double>& products) {
    const std::size_t n = x.examples;
    products.resize(n * n);
    LaneSums dots{};
    for (std::size_t group = 0; group < groups_of(x); ++group) {
        LaneSums squares{};
        for (std::size_t s = 0; s < n; ++s) {
            dots_of_lanes(lanes_of(x, group, 0), lanes_of(x, s / kRowLanes, 0) + s % kRowLanes, x.columns, dots.data());
            for (std::size_t l = 0; l < examples_in(x, group); ++l) {
                const double product = dots[l] / static_cast<double>(x.columns);
                products[(group * kRowLanes + l) * n + s] = product;
                squares[l] += product * product;
            }
        }
        for (std::size_t l = 0; l < kRowLanes; ++l)
            lanes_of(square, group, 0)[l] = static_cast<float>(squares[l] / static_cast<double>(n));
    }
}

void add_back_of_batch_square(const BatchLanes& x, const BatchLanes& gradient, std::span<const double> products,
                              const BatchLanes& to) {
    const std::size_t n = x.examples;
    const double factor = 2.0 / (static_cast<double>(n) * static_cast<double>(x.columns));
    std::vector<double> weights(n * kRowLanes);
    for (std::size_t group = 0; group < groups_of(x); ++group) {
        std::fill(weights.begin(), weights.end(), 0.0);
        for (std::size_t l = 0; l < examples_in(x, group); ++l) {
            const std::size_t r = group * kRowLanes + l;
            for (std::size_t s = 0; s < n; ++s)
                weights[s * kRowLanes + l] = factor * products[r * n + s] * (of_example(gradient, r) + of_example(gradient, s));
        }
        for (std::size_t c = 0; c < x.columns; ++c) {
            LaneSums sums{};
            for (std::size_t other = 0; other < groups_of(x); ++other)
                add_weighted(weights.data() + other * kRowLanes * kRowLanes, lanes_of(x, other, c), examples_in(x, other),
                             sums.data());
            for (std::size_t l = 0; l < kRowLanes; ++l) lanes_of(to, group, c)[l] += static_cast<float>(sums[l]);
        }
    }
}

}  // namespace fedhive::aggregation::formulas
