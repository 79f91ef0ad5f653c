#include "sim/plan/upload_plan.h"

#include "sim/config/privacy.h"

namespace fedhive::sim {

clients::UploadPlan upload_plan(const RunConfig& run, std::uint64_t num_clients) {
    clients::UploadPlan plan;
    plan.sampling_seed = run.all_seeds().sampling;
    plan.num_clients = num_clients;
    for (const Chosen& step : run.upload) {
        plan.steps.at(plan.size) = clients::upload_step(step.name, step.values);
        if (clients::upload_catalog().at(plan.steps[plan.size].kind).noise_of_sum)
            plan.steps[plan.size].numbers[0] = multiplier_of_updates(run);
        ++plan.size;
    }
    return plan;
}

clients::UploadPlan download_plan(const RunConfig& run) {
    clients::UploadPlan plan;
    for (const Chosen& step : run.download) plan.steps.at(plan.size++) = clients::upload_step(step.name, step.values);
    return plan;
}

}  // namespace fedhive::sim
