// The task of mode parameter_server: the gradient of one local step, in the slot.
#pragma once

#include "clients/visit/local_batches.h"
#include "clients/worker/worker_context.h"

#include <map>

namespace fedhive::clients {

class GradientTask {
public:
    explicit GradientTask(WorkerContext& worker) : worker_(worker) {}
    void run(const Task& task);

private:
    struct RoundBatches {
        std::uint32_t round = 0;
        LocalBatches batches;
    };
    RowBatch batch_of(const Task& task, std::uint32_t client_id);

    WorkerContext& worker_;
    std::map<std::uint32_t, RoundBatches> batches_;  // by client
};

}  // namespace fedhive::clients
