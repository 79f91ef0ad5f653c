// The loss of local training, as workers get it.
#pragma once

#include "clients/data/shared_dataset.h"
#include "clients/tasks/loss.h"
#include "sim/config/config.h"

namespace fedhive::sim {

/// Balanced class weights count the training examples of all clients.
clients::LossPlan loss_plan(const RunConfig& run, const clients::SharedDataset& dataset);

}  // namespace fedhive::sim
