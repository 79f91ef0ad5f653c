// Gemm against plain loops, and all instruction sets against each other bit by bit.
#include "clients/direct/ops.h"
#include "tests/clients/direct/kernel_sets.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::clients::direct;
using namespace fedhive::testing;

TEST_SUITE("DirectGemmKernels") {
    TEST_CASE("RankUpdatesAreProductsInOneOrder") {
        enum class Into { Place, Sum, Descent, DescentFromElsewhere };
        constexpr float kRate = 0.3F, kDecay = 0.1F;
        Draws draws(1);
        for (int i = 0; i < 60; ++i) {
            // Every tenth case spans several strips of columns.
            const std::size_t rows = draws.size(1, 30), columns = i % 10 == 0 ? draws.size(300, 700) : draws.size(1, 70),
                              outer = draws.size(1, 3), inner = i % 10 == 0 ? draws.size(20, 60) : draws.size(1, 9);
            CAPTURE(rows);
            CAPTURE(columns);
            const Floats a = draws.floats(rows * outer * inner), m = draws.floats(outer * inner * columns),
                         before = draws.floats(rows * columns);
            for (const Into into : {Into::Place, Into::Sum, Into::Descent, Into::DescentFromElsewhere}) {
                const bool descends = into == Into::Descent || into == Into::DescentFromElsewhere;
                const Floats found = agreed([&](const Kernels& kernels) {
                    Floats out = into == Into::DescentFromElsewhere ? Floats(before.size(), NAN) : before;
                    kernels.gemm({.a = a.data(),
                                  .a_row = stride(outer * inner),
                                  .a_outer = stride(inner),
                                  .a_inner = 1,
                                  .m = m.data(),
                                  .m_outer = stride(inner * columns),
                                  .m_inner = stride(columns),
                                  .out = out.data(),
                                  .out_row = stride(columns),
                                  .rows = rows,
                                  .columns = columns,
                                  .outer = outer,
                                  .inner = inner,
                                  .add = into == Into::Sum,
                                  .descend = descends,
                                  .rate = kRate,
                                  .decay = kDecay,
                                  .from = into == Into::DescentFromElsewhere ? before.data() : nullptr});
                    return out;
                });
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < columns; ++c) {
                        const auto held = static_cast<double>(before[r * columns + c]);
                        double sum = into == Into::Sum ? held : 0.0;
                        for (std::size_t k = 0; k < outer * inner; ++k)
                            sum += static_cast<double>(a[r * outer * inner + k]) * static_cast<double>(m[k * columns + c]);
                        if (descends) sum = held - double{kRate} * (sum + double{kDecay} * held);
                        REQUIRE(static_cast<double>(found[r * columns + c]) == doctest::Approx(sum).epsilon(1e-5).scale(1.0));
                    }
            }
        }
    }

    // Weight steps of a linear layer, with batches small enough for descend_by_rows() and with larger ones.
    TEST_CASE("LargeProductsAndPanelsAddTheSameTermsInOrder") {
        Draws draws(5);
        for (int i = 0; i < 40; ++i) {
            const std::size_t rows = i % 4 == 0 ? draws.size(1, 30) : draws.size(24, 500), columns = draws.size(20, 100),
                              outer = draws.size(1, 3), inner = draws.size(60, 300), terms = outer * inner;
            const bool by_columns = i % 2 == 0, panels = i % 3 == 0, add = i % 5 < 2;
            CAPTURE(rows);
            CAPTURE(columns);
            CAPTURE(terms);
            const Floats a = draws.floats(rows * terms), m = draws.floats(terms * columns),
                         before = draws.floats(rows * columns);
            Floats in_panels(to_panels(columns) * terms, NAN);
            for (std::size_t k = 0; k < terms; ++k)
                for (std::size_t c = 0; c < columns; ++c)
                    in_panels[(c / kPanel * terms + k) * kPanel + c % kPanel] = m[k * columns + c];
            const Stride term = panels ? stride(kPanel) : stride(columns);
            const Floats found = agreed([&](const Kernels& kernels) {
                Floats out = before;
                kernels.gemm({.a = a.data(),
                              .a_row = by_columns ? 1 : stride(terms),
                              .a_outer = by_columns ? stride(inner * rows) : stride(inner),
                              .a_inner = by_columns ? stride(rows) : 1,
                              .m = panels ? in_panels.data() : m.data(),
                              .m_outer = stride(inner) * term,
                              .m_inner = term,
                              .m_panel = panels ? stride(terms * kPanel) : 0,
                              .out = out.data(),
                              .out_row = stride(columns),
                              .rows = rows,
                              .columns = columns,
                              .outer = outer,
                              .inner = inner,
                              .add = add});
                return out;
            });
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < columns; ++c) {
                    float sum = add ? before[r * columns + c] : 0.0F;
                    for (std::size_t k = 0; k < terms; ++k)
                        sum = std::fma(by_columns ? a[k * rows + r] : a[r * terms + k], m[k * columns + c], sum);
                    REQUIRE(found[r * columns + c] == sum);
                }
        }
    }

    TEST_CASE("ProductsOfOneCallAreThoseOfACallEach") {
        Draws draws(9);
        for (int i = 0; i < 60; ++i) {
            // Half of the cases are a tile each.
            const bool panels = i % 3 == 0;
            const std::size_t products = draws.size(1, 16), rows = draws.size(1, i % 2 == 0 ? 16 : 40),
                              columns = draws.size(1, i % 2 == 0 ? 16 : 70), inner = draws.size(1, 40),
                              of_m = (panels ? to_panels(columns) : columns) * inner;
            CAPTURE(rows);
            CAPTURE(columns);
            const Floats a = draws.floats(products * (rows * inner + 3)), m = draws.floats(products * (of_m + 5));
            const auto run = [&](const Kernels& kernels, bool one_by_one) {
                Gemm t{.a = a.data(),
                       .a_row = stride(inner),
                       .a_inner = 1,
                       .m = m.data(),
                       .m_inner = panels ? stride(kPanel) : stride(columns),
                       .m_panel = panels ? stride(inner * kPanel) : 0,
                       .out_row = stride(columns),
                       .rows = rows,
                       .columns = columns,
                       .outer = 1,
                       .inner = inner};
                Floats out(products * (rows * columns + 7), 2.0F);
                t.out = out.data();
                t.products = one_by_one ? 1 : products;
                t.a_next = stride(rows * inner + 3);
                t.m_next = stride(of_m + 5);
                t.out_next = stride(rows * columns + 7);
                for (std::size_t call = 0; call < (one_by_one ? products : 1); ++call) {
                    kernels.gemm(t);
                    t.a += t.a_next;
                    t.m += t.m_next;
                    t.out += t.out_next;
                }
                return out;
            };
            const Floats found = agreed([&](const Kernels& kernels) { return run(kernels, false); });
            REQUIRE(found == agreed([&](const Kernels& kernels) { return run(kernels, true); }));
        }
    }

    TEST_CASE("SmallBatchesDescendWithTheBitsOfLargeOnes") {
        constexpr float kRate = 0.3F;
        Draws draws(22);
        for (std::size_t batch = 1; batch <= 14; ++batch)
            for (const std::size_t columns : {1U, 16U, 23U, 40U, 64U, 70U, 200U})
                for (const bool elsewhere : {false, true}) {
                    const std::size_t rows = draws.size(1, 150);
                    CAPTURE(batch);
                    CAPTURE(rows);
                    CAPTURE(columns);
                    const Floats gradients = draws.floats(batch * rows), x = draws.floats(batch * columns),
                                 before = draws.floats(rows * columns);
                    const Floats found = agreed([&](const Kernels& kernels) {
                        Floats out = elsewhere ? Floats(before.size(), NAN) : before;
                        kernels.gemm({.a = gradients.data(),
                                      .a_row = 1,
                                      .a_inner = stride(rows),
                                      .m = x.data(),
                                      .m_inner = stride(columns),
                                      .out = out.data(),
                                      .out_row = stride(columns),
                                      .rows = rows,
                                      .columns = columns,
                                      .outer = 1,
                                      .inner = batch,
                                      .descend = true,
                                      .rate = kRate,
                                      .from = elsewhere ? before.data() : nullptr});
                        return out;
                    });
                    for (std::size_t r = 0; r < rows; ++r)
                        for (std::size_t c = 0; c < columns; ++c) {
                            float sum = 0.0F;
                            for (std::size_t k = 0; k < batch; ++k)
                                sum = std::fma(gradients[k * rows + r], x[k * columns + c], sum);
                            REQUIRE(found[r * columns + c] == before[r * columns + c] - kRate * sum);
                        }
                }
    }

    TEST_CASE("PanelsHoldAMatrixOrItsTranspose") {
        Draws draws(9);
        for (const bool transposed : {false, true})
            for (const std::size_t rows : {1U, 16U, 31U, 32U, 75U})
                for (const std::size_t columns : {1U, 15U, 16U, 33U, 64U}) {
                    CAPTURE(transposed);
                    CAPTURE(rows);
                    CAPTURE(columns);
                    const Floats from = draws.floats(rows * columns);
                    const std::size_t terms = transposed ? columns : rows, width = transposed ? rows : columns;
                    const Floats found = agreed([&](const Kernels& kernels) {
                        Floats to(to_panels(width) * terms);
                        kernels.write_panels(
                            {.from = from.data(), .rows = rows, .columns = columns, .transposed = transposed, .to = to.data()});
                        return to;
                    });
                    for (std::size_t k = 0; k < terms; ++k)
                        for (std::size_t c = 0; c < to_panels(width); ++c) {
                            const float wanted = c >= width ? 0.0F : transposed ? from[c * columns + k] : from[k * columns + c];
                            REQUIRE(found[c / kPanel * kPanel * terms + k * kPanel + c % kPanel] == wanted);
                        }
                }
    }
}
