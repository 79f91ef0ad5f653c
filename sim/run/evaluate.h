// The global model's quality on the test set and on the clients' held-out examples.
#pragma once

#include "clients/tasks/learning_task.h"
#include "sim/fleet/fleet.h"
#include "sim/plan/experiment.h"
#include "sim/round/round_record.h"

namespace fedhive::sim {

/// The workers evaluate chunks of fixed size; sums go over chunks in order, so no metric depends on the number of workers.
Metrics evaluate(Fleet& fleet, const Experiment& run);

/// The metrics `shown` from the sums over `examples` examples of `data`.
Metrics metrics_of(const clients::EvaluationSums& sums, const std::vector<clients::Metric>& shown, std::uint64_t examples,
                   const clients::DatasetMap& data);

/// Metrics of each of the run's evaluated clients, at least one. The workers take ranges of clients; each client's sums are its
/// own, so no metric depends on the number of workers.
ClientsTest evaluate_clients(Fleet& fleet, const Experiment& run);

}  // namespace fedhive::sim
