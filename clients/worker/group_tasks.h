// The tasks that several workers do together: a replica of a group, a half of a split model.
#pragma once

#include "clients/worker/worker_context.h"

namespace fedhive::clients {

class ReplicaTask {
public:
    explicit ReplicaTask(WorkerContext& worker) : worker_(worker) {}
    void run(TaskCell& cell);

private:
    WorkerContext& worker_;
    aggregation::ParamBuffer velocity_;  // the momentum until it is handed over
};

void train_half(WorkerContext& worker, TaskCell& cell, Half half);

}  // namespace fedhive::clients
