// The task that aggregates a range of the parameters: the rule runs as over a shorter model.
#pragma once

#include "aggregation/math/aggregator.h"
#include "clients/worker/worker_context.h"

#include <memory>

namespace fedhive::clients {

class AggregateTask {
public:
    explicit AggregateTask(WorkerContext& worker) : worker_(worker) {}
    void run(const Task& task);

private:
    WorkerContext& worker_;
    std::unique_ptr<aggregation::Aggregator> rule_;  // of the last range
};

}  // namespace fedhive::clients
