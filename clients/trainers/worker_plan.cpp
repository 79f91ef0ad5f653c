#include "clients/trainers/worker_plan.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <utility>

namespace fedhive::clients {

NormalizationPlan NormalizationPlan::of(const Normalization& normalization) {
    if (std::max(normalization.mean.size(), normalization.std.size()) > kMaxChannels)
        throw ConfigError(fmt::format("normalisation of more than {} channels", kMaxChannels));
    NormalizationPlan plan;
    std::copy(normalization.mean.begin(), normalization.mean.end(), plan.mean.begin());
    std::copy(normalization.std.begin(), normalization.std.end(), plan.std.begin());
    plan.num_means = static_cast<std::uint32_t>(normalization.mean.size());
    plan.num_stds = static_cast<std::uint32_t>(normalization.std.size());
    return plan;
}

Normalization NormalizationPlan::get() const {
    return {{mean.begin(), mean.begin() + num_means}, {std.begin(), std.begin() + num_stds}};
}

std::unique_ptr<PythonClients> make_python_clients(const WorkerPlan& plan, const SharedDataset& dataset, bool on_terminal,
                                                   std::function<void(bool moved)> while_waiting) {
    return std::make_unique<PythonClients>(PythonVisits{.visit = plan.visit,
                                                        .model = plan.model,
                                                        .memories = plan.memories,
                                                        .dataset = dataset,
                                                        .normalization = plan.normalization.get(),
                                                        .training = plan.training,
                                                        .optimizer = plan.optimizer,
                                                        .reports = plan.reports,
                                                        .threads = plan.threads,
                                                        .on_terminal = on_terminal,
                                                        .while_waiting = std::move(while_waiting)});
}

}  // namespace fedhive::clients
