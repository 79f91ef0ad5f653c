#include "sim/plan/task_plan.h"

#include "clients/data/target.h"
#include "clients/tasks/learning_task.h"

namespace fedhive::sim {

clients::LossPlan loss_plan(const RunConfig& run, const clients::SharedDataset& dataset) {
    const Chosen& loss = run.training.loss;
    const std::string& name = loss.name.empty() ? clients::learning_task(run.task).losses.front() : loss.name;
    const Values values = completed(loss.values, clients::loss_spec(name).keys);
    clients::LossPlan plan = clients::loss_spec(name).build(values);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(dataset.map().num_classes));
    const clients::ExamplesView train = dataset.train();
    const std::size_t width = train.target.width;
    for (std::uint32_t client = 0; client < dataset.map().num_clients && !counts.empty(); ++client)
        for (const std::uint32_t example : dataset.shard(client))
            for (const std::int32_t label : train.labels.subspan(example * width, width))
                if (label != clients::kIgnored) ++counts.at(static_cast<std::size_t>(label));
    clients::set_class_weights(plan, values, counts);
    return plan;
}

std::vector<clients::Metric> metrics_of_run(const RunConfig& run) {
    return clients::learning_task(run.task).metrics_with(run.evaluation.metrics);
}

clients::SumsPlan sums_plan(const RunConfig& run, std::int64_t num_classes) {
    std::vector<std::string> needed;
    for (const clients::Metric& metric : metrics_of_run(run))
        needed.insert(needed.end(), metric.needs.begin(), metric.needs.end());
    if (run.evaluation.confusion) needed.emplace_back("confusion");
    return clients::SumsPlan::of(run.task, num_classes, needed);
}

}  // namespace fedhive::sim
