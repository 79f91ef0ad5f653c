// The plan that each worker gets before its first task.
#pragma once

#include "clients/trainers/worker_plan.h"
#include "sim/config/run_config.h"
#include "sim/modes/mode.h"
#include "sim/plan/experiment_data.h"
#include "sim/plan/model_setup.h"
#include "sim/plan/resources.h"
#include "sim/plan/server_side.h"

namespace fedhive::sim {

clients::WorkerPlan plan_workers(const RunConfig& config, const Mode& mode, const ExperimentData& data, const ModelSetup& model,
                                 const Resources& resources, const ServerSide& server);

}  // namespace fedhive::sim
