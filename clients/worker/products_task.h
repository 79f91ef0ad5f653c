// The task that computes inner products of the updates over one range of the parameters.
#pragma once

#include "clients/worker/worker_context.h"

namespace fedhive::clients {

/// Writes gram() (aggregation/math/gram.h) of columns first to first + count − 1 of the task's terms to the range's place in the arena's
/// products. If the task has `histories`, each term is the update plus the sum of its client's earlier updates.
void take_products(const WorkerContext& worker, const Task& task);

}  // namespace fedhive::clients
