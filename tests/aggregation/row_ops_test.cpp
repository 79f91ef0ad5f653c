#include "aggregation/math/row_ops.h"

#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;

namespace {

constexpr std::size_t kRows = 5;
const testing::Floats kCounts{3.0F, 0.0F, 1.0F, 0.5F, 0.0F};  // repeated over the rows

struct Shape {
    std::size_t rows, width;
    std::size_t stride = width + 100, first = 7;
};

/// A matrix in columns, and its rows as separate vectors.
struct Matrix {
    Matrix(const Shape& shape, std::uint32_t which, MemorySpace space)
        : values(testing::random_floats(shape.rows * shape.stride, which)),
          buffer(testing::upload(values, space)),
          columns{buffer.span().data + shape.first, shape.rows, shape.width, shape.stride, space},
          first(shape.first) {}

    ParamSpan row(std::size_t index) { return {values.data() + index * columns.stride + first, columns.width}; }

    testing::Floats values;
    ParamBuffer buffer;
    RowsSpan columns;
    std::size_t first;
};

/// Shapes with more columns than threads in a block and, if `many`, more rows than a grid has in y. Padding between rows stays.
void rows_conform(MemorySpace space, const SgdOptions& options, bool many = false) {
    std::vector<Shape> shapes{{kRows, 1}, {kRows, 255}, {kRows, 256}, {kRows, 1000}, {3, 8193}, {2, 100003}};
    if (many) shapes.push_back({70000, 2, 3, 1});
    for (const Shape& shape : shapes) {
        testing::Floats counts(shape.rows);
        for (std::size_t row = 0; row < shape.rows; ++row) counts[row] = kCounts[row % kCounts.size()];
        Matrix parameters(shape, 1, space), gradients(shape, 2, space), velocity(shape, 3, space);
        const bool momentum = options.momentum > 0.0F;
        sgd_step(parameters.columns, gradients.columns, momentum ? velocity.columns : RowsSpan{},
                 testing::upload(counts, space), options);
        for (std::size_t row = 0; row < shape.rows; ++row) {
            if (counts[row] != 0.0F)
                sgd_step(parameters.row(row), gradients.row(row), momentum ? velocity.row(row) : ParamSpan(), options);
        }
        CHECK(testing::same_bits(testing::download(gradients.buffer), gradients.values));
        CHECK(testing::same_bits(testing::download(parameters.buffer), parameters.values));
        CHECK(testing::same_bits(testing::download(velocity.buffer), velocity.values));
    }
}

void every_optimizer_conforms(MemorySpace space) {
    rows_conform(space, {.lr = 0.1F, .momentum = 0.0F, .weight_decay = 0.0F, .nesterov = false});
    rows_conform(space, {.lr = 0.1F, .momentum = 0.0F, .weight_decay = 0.01F, .nesterov = false}, true);
    rows_conform(space, {.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .nesterov = false});
    rows_conform(space, {.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .nesterov = true}, true);
}

}  // namespace

TEST_SUITE("RowOps") {
    TEST_CASE("RowsHaveTheBitsOfOneAtATimeAndThoseAtRestStay") { every_optimizer_conforms(MemorySpace::Host); }

    TEST_CASE("Gpu: RowsHaveTheBitsOfOneAtATimeAndThoseAtRestStayOnCuda") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        every_optimizer_conforms(MemorySpace::Cuda);
    }

    TEST_CASE("RowsOfOtherShapesAreRefused") {
        Matrix some({kRows, 16}, 1, MemorySpace::Host), wide({kRows, 32}, 2, MemorySpace::Host);
        Matrix few({kRows, 16}, 3, MemorySpace::Host);
        few.columns.rows = 2;
        const ConstParamSpan counts(kCounts);
        const SgdOptions plain{}, heavy{.lr = 0.1F, .momentum = 0.9F};
        CHECK_THROWS_WITH_AS(sgd_step(some.columns, few.columns, {}, counts, plain),
                             doctest::Contains("gradients: 2 rows against 5"), ShapeError);
        CHECK_THROWS_AS(sgd_step(some.columns, wide.columns, {}, counts, plain), ShapeError);
        CHECK_THROWS_WITH_AS(sgd_step(some.columns, some.columns, {}, counts.part(0, 4), plain), doctest::Contains("counts"),
                             ShapeError);
        CHECK_THROWS_WITH_AS(sgd_step(some.columns, some.columns, {}, counts, heavy), doctest::Contains("velocity"),
                             ShapeError);
        CHECK_THROWS_AS(sgd_step(some.columns, some.columns, some.columns, counts, plain), ShapeError);
        CHECK_THROWS_AS(sgd_step(some.columns, some.columns, {}, counts, {.nesterov = true}), Fault);
    }
}
