#include "aggregation/math/row_ops.h"

#include "aggregation/math/dispatch.h"

namespace fedhive::aggregation {

namespace {

void require_same_rows(const RowsSpan& expected, const RowsSpan& rows, const char* what) {
    if (rows.rows != expected.rows) throw ShapeError(fmt::format("{}: {} rows against {}", what, rows.rows, expected.rows));
    require_same(expected.row(0), rows.row(0), what);
}

}  // namespace

void sgd_step(const RowsSpan& parameters, const RowsSpan& gradients, const RowsSpan& velocity, ConstParamSpan counts,
              const SgdOptions& options) {
    require_same_rows(parameters, gradients, "gradients");
    require_same({nullptr, parameters.rows, parameters.space}, counts, "counts");
    if (options.nesterov && options.momentum == 0.0F) throw Fault("nesterov needs momentum > 0");
    if (options.momentum == 0.0F)
        FEDHIVE_CHECK_EQ(velocity.width, std::size_t{0});
    else
        require_same_rows(parameters, velocity, "velocity");
    dispatch(
        parameters.space,
        [&] {
            for (std::size_t row = 0; row < parameters.rows; ++row)
                if (counts.data[row] != 0.0F) sgd_step(parameters.row(row), gradients.row(row), velocity.row(row), options);
        },
        [&] {
            const auto [lr, momentum, weight_decay, nesterov] = options;
            return kernels::sgd_of_rows({parameters.data, parameters.stride}, {gradients.data, gradients.stride},
                                        {velocity.data, velocity.stride}, counts.data, parameters.rows, parameters.width, lr,
                                        momentum, weight_decay, nesterov);
        });
}

}  // namespace fedhive::aggregation
