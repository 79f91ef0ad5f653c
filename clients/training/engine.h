// What this program trains with: the direct engine where the plan says so, and beside it one other. A library has that one if it defines
// make_trainer() here, initial_parameters() (clients/models/catalog.h) and libtorch_info() (clients/training/libtorch_info.h). A program links
// one: fedhive_clients, which is LibTorch, or, where there is none (sanitizers), the plain one of tests/support.
#pragma once

#include "clients/training/trainer.h"

#include <memory>

namespace fedhive::clients {

/// The trainer of this process. Throws Fault when the model's layout is not the coordinator's.
std::unique_ptr<Trainer> make_trainer(const WorkerPlan& plan, const SharedDataset& dataset);

}  // namespace fedhive::clients
