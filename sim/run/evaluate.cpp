#include "sim/run/evaluate.h"

namespace fedhive::sim {

namespace {

std::vector<ClientQuality> qualities(const Experiment& run, const std::vector<clients::EvaluationResult>& results) {
    std::vector<ClientQuality> clients;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::uint32_t client = run.evaluated_clients[i];
        const std::size_t examples = run.dataset.held_out(client).size();
        const auto count = static_cast<double>(examples);
        clients.push_back({client, examples, results[i].loss_sum / count, static_cast<double>(results[i].correct) / count});
    }
    return clients;
}

}  // namespace

Metrics evaluate(Fleet& fleet, const ServerState& server, std::uint64_t num_test) {
    double loss_sum = 0.0;
    std::uint64_t correct = 0;
    for (const clients::EvaluationResult& chunk : fleet.evaluate(server)) {
        loss_sum += chunk.loss_sum;
        correct += chunk.correct;
    }
    const auto total = static_cast<double>(num_test);
    return {loss_sum / total, static_cast<double>(correct) / total};
}

ClientsTest evaluate_clients(Fleet& fleet, const Experiment& run) {
    ClientsTest test;
    test.global = qualities(run, fleet.evaluate_clients(run.server));
    if (run.config.evaluation.clients.personalized)
        test.personalized = qualities(
            run,
            fleet.evaluate_personalized(run.server, run.strategy.objective_in(static_cast<std::uint64_t>(run.server.round))));
    return test;
}

}  // namespace fedhive::sim
