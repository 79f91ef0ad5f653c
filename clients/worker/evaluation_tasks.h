// Tasks without an update: evaluations on test examples, on clients' held-out examples, and on their training examples.
#pragma once

#include "aggregation/memory/pinned_array.h"
#include "clients/visit/formula_visit.h"
#include "clients/worker/worker_context.h"

#include <optional>

namespace fedhive::clients {

class EvaluationTasks {
public:
    explicit EvaluationTasks(WorkerContext& worker);
    void evaluate(TaskCell& cell);
    void evaluate_clients(const Task& task);
    /// Writes the number that a sampler asks of each client to the first of the client's sums.
    void measure_clients(const Task& task);

private:
    /// The clients of the task. Throws Fault for an id that no client has.
    std::span<const std::uint32_t> clients_of(const Task& task) const;
    VisitFacts facts_of(const Task& task, std::uint32_t client_id) const;
    aggregation::ConstParamSpan own_model(const Task& task, std::uint32_t client_id, aggregation::ConstParamSpan start,
                                          TrainingStep& step);

    WorkerContext& worker_;
    std::optional<FormulaJudge> judge_;  // of strategy.file
    bool changes_elements_ = false;      // MethodFormulas::changes_elements(); then a client tunes its model by them too
    aggregation::PinnedArray<ClientFigures> figures_;  // of a client that trains for its own evaluation
};

}  // namespace fedhive::clients
