#include "sim/run/evaluate.h"

#include "sim/plan/task_plan.h"

namespace fedhive::sim {

namespace {

std::vector<ClientQuality> qualities(const Experiment& run, const std::vector<clients::EvaluationSums>& results) {
    const std::vector<clients::Metric> shown = metrics_of_run(run.config);
    std::vector<ClientQuality> clients;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::uint32_t client = run.evaluated_clients[i];
        const std::size_t examples = run.data.dataset.held_out(client).size();
        const Metrics metrics = metrics_of(results[i], shown, examples, run.data.dataset.map());
        const double counted = results[i].counted_examples(examples, run.data.dataset.map().target.width);
        clients.push_back({client, examples, metrics.test_loss, metrics.main(), counted});
    }
    return clients;
}

}  // namespace

Metrics metrics_of(const clients::EvaluationSums& sums, const std::vector<clients::Metric>& shown, std::uint64_t examples,
                   const clients::DatasetMap& data) {
    const double count = sums.counted_examples(examples, data.target.width);
    Metrics metrics{.test_loss = sums.loss() / count};
    for (const clients::Metric& metric : shown)
        if (metric.over_classes == 0 || data.num_classes > metric.over_classes)
            metrics.of_task.push_back({metric.name, metric.of(sums, count, static_cast<double>(data.target.width))});
    return metrics;
}

Metrics evaluate(Fleet& fleet, const Experiment& run) {
    clients::EvaluationSums sums(run.worker_plan.sums);
    for (const clients::EvaluationSums& chunk : fleet.evaluate(run.server.state)) sums.add(chunk.values());
    const clients::DatasetMap& data = run.data.dataset.map();
    Metrics metrics = metrics_of(sums, metrics_of_run(run.config), data.num_test, data);
    if (run.config.evaluation.confusion) {
        const std::span<const double> counts = sums.of("confusion");
        metrics.confusion.assign(counts.begin(), counts.end());
    }
    if (data.num_triggered > 0) {
        clients::EvaluationSums triggered(run.worker_plan.sums);
        for (const clients::EvaluationSums& chunk : fleet.evaluate_triggered(run.server.state)) triggered.add(chunk.values());
        metrics.attack_success = metrics_of(triggered, metrics_of_run(run.config), data.num_triggered, data).value("accuracy");
    }
    return metrics;
}

ClientsTest evaluate_clients(Fleet& fleet, const Experiment& run) {
    ClientsTest test;
    test.global = qualities(run, fleet.evaluate_clients(run.server.state));
    if (run.config.evaluation.clients.personalized)
        test.personalized = qualities(
            run, fleet.evaluate_personalized(run.server.state,
                                             run.server.strategy.rate_in(static_cast<std::uint64_t>(run.server.state.round))));
    return test;
}

}  // namespace fedhive::sim
