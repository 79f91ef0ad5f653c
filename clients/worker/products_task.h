// The task that takes inner products of the updates over one range of the parameters.
#pragma once

#include "clients/worker/worker_context.h"

namespace fedhive::clients {

/// Writes gram() of columns first to first + count of the task's terms, each with its client's history if the task has `histories`, to
/// the range's place in the arena's products.
void take_products(const WorkerContext& worker, const Task& task);

}  // namespace fedhive::clients
