// A worker process: maps the inherited memory, builds its model, and runs tasks until it is told to stop.
#pragma once

#include "clients/trainers/trainer.h"

#include <cstdint>

namespace fedhive::clients {

/// The body of `fedhive worker`; returns the exit code. Inherits the control block's descriptor;
/// `coordinator` is the parent's process id.
int run_worker(int control_descriptor, std::uint32_t worker, int coordinator, TrainerFactory make_trainer);

}  // namespace fedhive::clients
