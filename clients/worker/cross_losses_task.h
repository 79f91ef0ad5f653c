// The task that evaluates the models of all updates of a round on the examples of each of a range of clients.
#pragma once

#include "clients/worker/worker_context.h"

namespace fedhive::clients {

/// losses[i][j] = mean loss of the model w_t + u_j on the examples of the client of update i, in the control block, for the updates i of the
/// range and all updates j of the task. The examples are those that the client holds out; if it holds out none, those that it trains on.
/// If the model has a local part, it is that of client i.
///
/// Order    as an evaluation: same bits in any worker.
/// Memory   two models.
/// Cost     a forward pass over client i's examples for each j.
void take_losses(WorkerContext& worker, const Task& task);

}  // namespace fedhive::clients
