// The task that aggregates a range of the parameters. The rule runs on it as on a shorter model.
#pragma once

#include "aggregation/cohort/group_means.h"
#include "aggregation/math/aggregator.h"
#include "clients/worker/worker_context.h"

#include <memory>

namespace fedhive::clients {

class AggregateTask {
public:
    explicit AggregateTask(WorkerContext& worker) : worker_(worker) {}
    void run(const Task& task);

private:
    aggregation::Aggregator& rule_of(const Task& task);
    aggregation::Groups groups_of(const Task& task) const;

    WorkerContext& worker_;
    // Of the last range:
    std::unique_ptr<aggregation::Aggregator> rule_;
    std::unique_ptr<aggregation::GroupMeans> of_groups_;
};

}  // namespace fedhive::clients
