#include "aggregation/math/gram.h"

#include "aggregation/math/gram_lane.h"
#include "aggregation/math/inner_products.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

std::vector<Floats> rows_of(std::size_t count, std::size_t size, double spread = 1.0) {
    std::vector<Floats> rows;
    Stream stream(5, Purpose::TestData, static_cast<std::uint32_t>(count));
    Floats common(size);
    for (float& value : common) value = static_cast<float>(stream.normal());
    for (std::size_t k = 0; k < count; ++k) {
        Floats& row = rows.emplace_back(common);
        for (float& value : row) value += static_cast<float>(spread * stream.normal());
    }
    return rows;
}

std::vector<const float*> pointers(const std::vector<Floats>& rows) {
    std::vector<const float*> all;
    for (const Floats& row : rows) all.push_back(row.data());
    return all;
}

InnerProducts products_of(const std::vector<Floats>& rows, MemorySpace space = MemorySpace::Host, std::size_t base = 0) {
    std::vector<ParamBuffer> buffers;
    std::vector<ConstParamSpan> spans;
    for (const Floats& row : rows) buffers.push_back(testing::upload(row, space));
    for (const ParamBuffer& buffer : buffers) spans.push_back(buffer);
    return inner_products_of(spans, base);
}

double dot(const Floats& a, const Floats& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

double squared_distance(const Floats& a, const Floats& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += difference * difference;
    }
    return sum;
}

/// gram() as CUDA threads compute it, chunk after chunk.
std::vector<double> by_lanes(const std::vector<Floats>& rows, std::size_t base) {
    const std::vector<const float*> at = pointers(rows);
    std::vector<double> values(gram_values(rows.size()), 0.0);
    for (std::size_t first = 0; first < rows.front().size(); first += 1024)
        for (std::size_t pair = 0; pair < values.size(); ++pair) {
            float lanes[16];
            for (std::size_t l = 0; l < 16; ++l)
                lanes[l] = element::gram_lane(at.data(), element::gram_pair(pair, rows.size()), base, first,
                                              std::min(first + 1024, rows.front().size()), l);
            values[pair] += element::gram_sum(lanes);
        }
    return values;
}

void equals_sums_in_double(MemorySpace space) {
    for (const auto& [count, size] : {std::pair<std::size_t, std::size_t>{1, 5}, {2, 1024}, {7, 3001}, {13, 70000}}) {
        const std::vector<Floats> rows = rows_of(count, size);
        const InnerProducts products = products_of(rows, space);
        const double scale = static_cast<double>(size);
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = 0; j < count; ++j) {
                CHECK(products.dot(i, j) == doctest::Approx(dot(rows[i], rows[j])).epsilon(1e-6).scale(scale));
                CHECK(products.squared_distance(i, j) == doctest::Approx(squared_distance(rows[i], rows[j])).epsilon(1e-6));
            }
    }
}

}  // namespace

TEST_SUITE("Gram") {
    TEST_CASE("EqualsSumsInDouble") { equals_sums_in_double(MemorySpace::Host); }

    TEST_CASE("Gpu: EqualsSumsInDoubleAndTheHost") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        equals_sums_in_double(MemorySpace::Cuda);
        const std::vector<Floats> rows = rows_of(11, 40000);
        for (std::size_t i = 0; i < 11; ++i)
            for (std::size_t j = 0; j < 11; ++j)
                CHECK(products_of(rows, MemorySpace::Cuda).dot(i, j) == products_of(rows).dot(i, j));
    }

    TEST_CASE("EveryProcessorAndTheDeviceCodeGiveTheSameBits") {
        const std::vector<Floats> rows = rows_of(14, 2500);
        const std::vector<const float*> at = pointers(rows);
        std::vector<double> values(gram_values(14));
        for (const std::size_t base : {0U, 5U}) {
            gram(at, base, 2500, MemorySpace::Host, values);
            CHECK(values == by_lanes(rows, base));
        }
        std::vector<float> chunk(24 * gram_kernels::kChunk, 0.0F);
        for (std::size_t k = 0; k < 14; ++k) std::copy_n(at[k], gram_kernels::kChunk, chunk.data() + k * gram_kernels::kChunk);
        std::vector<std::vector<double>> lower;
        for (const char* name : {"avx512", "avx2", "plain"})
            if (const gram_kernels::Kernels* kernels = gram_kernels::kernels_by_name(name); kernels != nullptr) {
                lower.emplace_back(14 * 15 / 2, 0.0);
                kernels->lower({chunk.data(), 14, lower.back().data()});
                lower.back().push_back(kernels->dot(chunk.data(), chunk.data() + gram_kernels::kChunk));
            }
        CHECK(gram_kernels::kernels_by_name("plain") != nullptr);
        CHECK(gram_kernels::kernels_by_name("sse") == nullptr);
        for (const std::vector<double>& one : lower) CHECK(one == lower.front());
    }

    TEST_CASE("PairsAreNumberedRowByRow") {
        std::size_t index = 0;
        for (std::size_t i = 0; i < 300; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                const element::GramPair pair = element::gram_pair(index++, 300);
                REQUIRE((pair.row == i && pair.column == j && !pair.with_base));
            }
        CHECK(element::gram_pair(index + 7, 300).row == 7);
        CHECK(element::gram_pair(index + 7, 300).with_base);
    }

    TEST_CASE("WhatUpdatesHaveInCommonDoesNotHideTheirDistances") {
        for (const double spread : {1e-2, 1e-3, 1e-4}) {
            const std::vector<Floats> rows = rows_of(6, 5000, spread);
            const InnerProducts products = products_of(rows);
            for (std::size_t i = 0; i < 6; ++i)
                for (std::size_t j = 0; j < i; ++j)
                    CHECK(products.squared_distance(i, j) == doctest::Approx(squared_distance(rows[i], rows[j])).epsilon(2e-6));
        }
    }

    TEST_CASE("AHugeUpdateDoesNotHideTheDistancesOfOthers") {
        std::vector<Floats> rows = rows_of(5, 5000);
        for (float& value : rows[0]) value *= 1e8F;
        std::vector<double> norms;
        for (const Floats& row : rows) norms.push_back(std::sqrt(dot(row, row)));
        CHECK(base_row(norms) != 0);
        const InnerProducts products = products_of(rows, MemorySpace::Host, base_row(norms));
        for (std::size_t i = 1; i < 5; ++i)
            for (std::size_t j = 1; j < i; ++j)
                CHECK(products.squared_distance(i, j) == doctest::Approx(squared_distance(rows[i], rows[j])).epsilon(1e-6));
    }

    TEST_CASE("DistancesToACombination") {
        const std::vector<Floats> rows = rows_of(5, 700);
        const InnerProducts products = products_of(rows);
        const std::vector<double> shares{0.1, 0.4, 0.0, 0.3, 0.2};
        Floats mean(700);
        std::vector<double> exact(700, 0.0);
        for (std::size_t k = 0; k < 5; ++k)
            for (std::size_t i = 0; i < 700; ++i) exact[i] += shares[k] * static_cast<double>(rows[k][i]);
        std::copy(exact.begin(), exact.end(), mean.begin());
        const std::vector<double> squared = products.squared_distances_to(shares);
        for (std::size_t k = 0; k < 5; ++k) CHECK(squared[k] == doctest::Approx(squared_distance(rows[k], mean)).epsilon(1e-5));
        CHECK(products.squared_of(shares) == doctest::Approx(dot(mean, mean)).epsilon(1e-5));
        CHECK(products.cosine(0, 1) ==
              doctest::Approx(dot(rows[0], rows[1]) / std::sqrt(dot(rows[0], rows[0]) * dot(rows[1], rows[1]))));
    }

    TEST_CASE("OfTheFirstRowsAndOfRowsLessOne") {
        const std::vector<Floats> rows = {{101, 202, 3}, {104, 198, 5}, {97, 205, -2}, {100, 200, 1}};
        for (const std::size_t base : {0U, 3U}) {
            const InnerProducts all = products_of(rows, MemorySpace::Host, base);
            const InnerProducts first = all.first_rows(3), apart = all.less_row(3);
            CHECK(first.rows() == 3);
            CHECK(apart.rows() == 3);
            for (std::size_t i = 0; i < 3; ++i)
                for (std::size_t j = 0; j < 3; ++j) {
                    CHECK(first.dot(i, j) == all.dot(i, j));
                    CHECK(first.squared_distance(i, j) == all.squared_distance(i, j));
                    double product = 0.0;
                    for (std::size_t p = 0; p < 3; ++p)
                        product += static_cast<double>(rows[i][p] - rows[3][p]) * static_cast<double>(rows[j][p] - rows[3][p]);
                    CHECK(apart.dot(i, j) == product);
                }
        }
    }

    TEST_CASE("OtherShapesAreRefused") {
        const Floats row(10, 1.0F);
        const std::vector<const float*> one{row.data()};
        std::vector<double> values(gram_values(1));
        CHECK_THROWS_AS(gram({}, 0, 10, MemorySpace::Host, values), ShapeError);
        CHECK_THROWS_AS(gram(one, 0, kGramColumns + 1, MemorySpace::Host, values), ShapeError);
        CHECK_THROWS_AS(gram(one, 1, 10, MemorySpace::Host, values), ShapeError);
        values.push_back(0.0);
        CHECK_THROWS_AS(gram(one, 0, 10, MemorySpace::Host, values), ShapeError);
    }
}
