// The loss of local training and the sums of an evaluation, as workers get them.
#pragma once

#include "clients/data/shared_dataset.h"
#include "clients/tasks/evaluation_sums.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "sim/config/run_config.h"

#include <vector>

namespace fedhive::sim {

/// Balanced class weights count the training examples of all clients.
clients::LossPlan loss_plan(const RunConfig& run, const clients::SharedDataset& dataset);

/// The metrics of the run, in the task's order: the usual ones and those that evaluation.metrics names.
std::vector<clients::Metric> metrics_of_run(const RunConfig& run);

/// The sums that the run's metrics and its confusion table are made of.
clients::SumsPlan sums_plan(const RunConfig& run, std::int64_t num_classes);

}  // namespace fedhive::sim
