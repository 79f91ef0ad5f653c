// The task that looks at the models of a round's updates with the examples of a range of their clients.
#pragma once

#include "clients/worker/worker_context.h"

namespace fedhive::clients {

/// Writes to the control block's losses, for each update i of the range and each update j of the task's terms, the mean loss of w_t + u_j on the
/// examples of i's client: those that it holds out, or those that it trains on if it holds out none. With a local part, j's model has i's.
///
/// Order    as an evaluation: same bits in any worker.
/// Memory   two models, [P].
/// Cost     a pass forward over i's examples for each j.
void take_losses(WorkerContext& worker, const Task& task);

}  // namespace fedhive::clients
