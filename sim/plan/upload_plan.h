// The upload chain of a config.
#pragma once

#include "clients/uploads/upload.h"
#include "sim/config/run_config.h"

#include <cstdint>

namespace fedhive::sim {

inline clients::UploadPlan upload_plan(const RunConfig& run, std::uint64_t num_clients) {
    clients::UploadPlan plan;
    plan.sampling_seed = run.all_seeds().sampling;
    plan.num_clients = num_clients;
    for (const Chosen& step : run.upload) plan.steps[plan.size++] = clients::upload_step(step.name, step.values);
    return plan;
}

}  // namespace fedhive::sim
