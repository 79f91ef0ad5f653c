// The trainer of a process for Engine::Direct.
#pragma once

#include "clients/trainers/trainer.h"

#include <memory>

namespace fedhive::clients {

/// Throws Fault when the model's layout differs from the coordinator's. Trains one client at a
/// time and does not support split models.
std::unique_ptr<Trainer> make_direct_trainer(const WorkerPlan& plan, const SharedDataset& dataset,
                                             aggregation::ConstParamSpan frozen);

}  // namespace fedhive::clients
