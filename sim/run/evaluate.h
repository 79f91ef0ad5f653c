// The global model's quality on the test set, and on what clients hold out.
#pragma once

#include "clients/tasks/learning_task.h"
#include "sim/fleet/fleet.h"
#include "sim/plan/experiment.h"
#include "sim/round/round_record.h"

namespace fedhive::sim {

/// Evaluated by the workers in chunks of fixed size; sums are taken over chunks in order, so no metric depends on the number of workers.
Metrics evaluate(Fleet& fleet, const Experiment& run);

/// What sums over so many examples of such data come to.
Metrics metrics_of(const clients::EvaluationResult& sums, const clients::LearningTask& task, std::uint64_t examples,
                   const clients::DatasetMap& data);

/// Of each of the run's evaluated clients, of which there is one at least; by the workers, a range of clients after the other. A client's sums
/// are its own, so neither here does the number of workers show.
ClientsTest evaluate_clients(Fleet& fleet, const Experiment& run);

}  // namespace fedhive::sim
