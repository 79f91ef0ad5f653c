#include "clients/tasks/losses/compute_rows.h"

#include "aggregation/math/dispatch.h"
#include "clients/tasks/losses/class_loss.h"

namespace fedhive::clients {

void compute(const RowLosses& rows, aggregation::MemorySpace space) {
    aggregation::dispatch(
        space,
        [&] {
            for (std::size_t r = 0; r < rows.rows; ++r) weighted_row(rows, r);
        },
        [&] { return row_kernels::compute(rows); });
}

}  // namespace fedhive::clients
