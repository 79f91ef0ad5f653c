// The task of mode hogwild: a client's local training in the global region itself.
#pragma once

#include "clients/worker/worker_context.h"

namespace fedhive::clients {

void train_in_place(WorkerContext& worker, const Task& task);

}  // namespace fedhive::clients
