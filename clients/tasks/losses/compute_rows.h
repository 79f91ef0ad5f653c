// Computes RowLosses in host or device memory.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/tasks/losses/row_losses.h"

namespace fedhive::clients {

/// Throws as aggregation::dispatch.
void compute(const RowLosses& rows, aggregation::MemorySpace space);

}  // namespace fedhive::clients
