#include "sim/round_loop.h"

#include "sim/evaluate.h"
#include "sim/sampler.h"

namespace fedhive::sim {

namespace {

bool evaluation_due(const RunConfig& config, std::int64_t round) {
    return (round + 1) % config.evaluation.every == 0 || round + 1 == config.rounds;
}

bool stop_reached(const RunConfig& config, const RoundRecord& round) {
    return config.stop.test_accuracy && round.test && round.test->test_accuracy >= *config.stop.test_accuracy;
}

}  // namespace

void run_rounds(Experiment& run, Fleet& fleet, Reporter& reporter, Checkpointer& checkpoints) {
    const RunConfig& config = run.config;
    const Mode& mode = run.mode;
    Strategy& strategy = run.strategy;
    ServerState& server = run.server;
    const auto min_updates = static_cast<std::size_t>(config.failures.min_updates);
    for (bool stop = false; server.round < config.rounds && !stop;) {
        fleet.throw_if_interrupted();
        RoundRecord round = reporter.begin(server);
        const Cohort cohort = sample_uniform(fleet.num_clients(), mode.in_flight,
                                             Stream(config.seed, Purpose::Sampling, static_cast<std::uint32_t>(server.round)));

        fleet.pull_down(cohort, server, strategy);  // the global model goes out, with a task for each slot
        fleet.train();                              // local steps -> update slots
        round.lap(Phase::PullDown);
        const Arrivals arrived = fleet.barrier(mode.quorum);  // the single wait of the round
        round.waited(arrived);

        if (arrived.accepted() >= min_updates) {
            aggregation::Aggregator& sum = *strategy.aggregator;
            sum.zero_init(run.layout.num_floats(), run.space);
            for (const aggregation::Update& update : arrived.updates) sum.aggregate(update);
            const aggregation::Aggregate aggregate = sum.finish();
            round.lap(Phase::Aggregate);
            server.server_step(*strategy.server_optimizer, aggregate);  // theta <- theta + eta * delta; ++version
            round.lap(Phase::ServerStep);
        }

        if (evaluation_due(config, server.round)) round.test = evaluate(fleet, server, run.dataset.map().num_test);
        round.lap(Phase::Evaluate);
        ++server.round;
        reporter.report(round, arrived, server);
        checkpoints.round_ended(server);
        stop = stop_reached(config, round);
    }
}

}  // namespace fedhive::sim
