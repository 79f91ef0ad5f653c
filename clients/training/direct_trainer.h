// What a process trains with where the plan says Engine::Direct.
#pragma once

#include "clients/training/trainer.h"

#include <memory>

namespace fedhive::clients {

/// Throws Fault when the model's layout is not the coordinator's. Trains one client at a time, and cuts no model in two.
std::unique_ptr<Trainer> make_direct_trainer(const WorkerPlan& plan, const SharedDataset& dataset);

}  // namespace fedhive::clients
