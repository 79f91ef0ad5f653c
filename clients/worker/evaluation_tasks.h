// The tasks that train nobody's update: models on test examples, on what clients have held out, and on what they train on.
#pragma once

#include "aggregation/memory/pinned_array.h"
#include "clients/worker/worker_context.h"

namespace fedhive::clients {

class EvaluationTasks {
public:
    explicit EvaluationTasks(WorkerContext& worker) : worker_(worker), figures_(worker.arena.space()) {}
    void evaluate(TaskCell& cell);
    void evaluate_clients(const Task& task);

private:
    std::span<const std::uint32_t> examples_of(const Task& task, std::uint32_t client_id) const;

    WorkerContext& worker_;
    aggregation::PinnedArray<ClientFigures> figures_;  // of a client that trains for its own evaluation
};

}  // namespace fedhive::clients
