#include "sim/run/round_loop.h"

#include "sim/plan/next_cohort.h"
#include "sim/round/divergence.h"
#include "sim/run/evaluate.h"

#include <algorithm>
#include <span>
#include <utility>

namespace fedhive::sim {

namespace {

/// The round is a multiple of `every`, counted from 1, or the last one.
bool every_kth_or_last(const RunConfig& config, std::int64_t round, std::int64_t every) {
    return (round + 1) % every == 0 || round + 1 == config.rounds;
}

bool evaluation_due(const RunConfig& config, std::int64_t round) {
    if (config.model.has_local_part()) return false;  // there is no global model to evaluate
    return every_kth_or_last(config, round, config.evaluation.every);
}

bool stop_reached(const RunConfig& config, const RoundRecord& round) { return round.test && round.test->reaches(config.stop); }

/// Evaluation on the clients' held-out examples is due; `stop`: this round is the last one.
bool on_clients_due(const RunConfig& config, std::int64_t round, bool stop) {
    const auto& every = config.evaluation.clients.every;
    return every && (every_kth_or_last(config, round, *every) || stop);
}

/// Makes the next model from the arrivals, unless they are fewer than least_updates().
void take_in(Experiment& run, Fleet& fleet, Arrivals& arrived, RoundRecord& round) {
    Strategy& strategy = run.server.strategy;
    ServerState& server = run.server.state;
    if (run.mode.in_place()) {
        round.stepped = arrived.num_arrived > 0;
        return server.stepped_in_place();  // written already, however few arrived
    }
    if (arrived.num_arrived < run.server.least_updates) return;
    const auto products_of = [&](ProductsOf of) -> TakeProducts {
        return [&, of](const auto& rows, std::size_t base, std::span<const std::uint32_t> history_of) {
            return fleet.inner_products(rows, base, run.server.product_rows(of, history_of));
        };
    };
    const TakeProducts products = products_of(ProductsOf::Method);
    const auto combine = [&](aggregation::Aggregator& rule, std::span<const aggregation::Update> updates) {
        aggregation::Aggregator& sum = fleet.with_workers(rule, updates.size());
        sum.zero_init(run.model.region.num_floats(), run.resources.space);
        for (const aggregation::Update& update : updates) sum.aggregate(update);
        return sum.finish();
    };
    run.server.attackers.replace_updates(arrived, products_of(ProductsOf::Updates), combine);
    const WeighedUpdates updates = run.server.weighing.weighed(arrived, server.round, server.region(), products);
    const std::span<const aggregation::ConstParamSpan> further = run.server.further.compute(updates.further, combine);
    aggregation::Aggregate aggregate = run.server.noised(combine(*strategy.aggregator, updates.of_aggregate), arrived);
    aggregate.further = further;
    run.server.weighing.keep(aggregate);
    round.lap(Phase::Aggregate);
    const aggregation::ConstParamSpan sent = server.sent_region();
    const auto losses = [&, index = server.sent_index()] { return fleet.cross_losses(server, arrived, index); };
    server.server_step(*strategy.server_optimizer, aggregate);  // theta <- theta + eta * delta; ++version
    round.stepped = true;
    run.server.keep_states(arrived, sent);  // client state changes with what the server has accepted
    run.server.mix(arrived, sent, products, losses, combine);
    run.server.adapt_clip(arrived);
    round.lap(Phase::ServerStep);
}

}  // namespace

Arrivals run_round(Experiment& run, Fleet& fleet, RoundRecord& round) {
    ServerState& server = run.server.state;
    if (run.server.clip.adapts()) round.clip_norm = server.clip_norm;
    run.server.broadcast.prepare(server);  // what clients are sent, if it is not the model itself
    Arrivals arrived;
    const auto ask = [&](const Cohort& candidates) { return fleet.measure(server, candidates); };
    const auto send = [&](std::size_t num_arrived) {  // the global model goes out, with a task for each slot
        const Cohort busy = fleet.on_their_way();
        const CountedCohort cohort = next_cohort(run, *run.sampler, busy, server.round, num_arrived, server.now_s, ask);
        fleet.pull_down(cohort, server, run.server.strategy);
    };
    send(0);
    for (bool more = true; more;) {  // one turn; one for each step if steps arrive by themselves
        fleet.train();               // local steps -> update slots
        round.lap(Phase::PullDown);
        Arrivals turn = fleet.barrier(server, send);  // the turn's only wait; early arrivals may be replaced
        round.waited(turn);
        take_in(run, fleet, turn, round);    // zero_init, aggregate, server_step
        more = fleet.release(turn, server);  // slots are free again
        arrived.append(std::move(turn));
    }
    run.sampler->learn(outcomes_of(arrived));
    server.sampler = run.sampler->state();
    server.in_flight = fleet.in_flight();
    if (server.sent) server.sent->settle();
    if (run.config.clock == Clock::Virtual) round.virtual_s = server.now_s;
    round.epsilon = run.server.epsilon();
    return arrived;
}

bool run_rounds(Experiment& run, Fleet& fleet, Reporter& reporter, Checkpointer& checkpoints, std::int64_t until) {
    const RunConfig& config = run.config;
    ServerState& server = run.server.state;
    bool stop = false;
    while (server.round < std::min(config.rounds, until) && !stop) {
        fleet.throw_if_interrupted();
        RoundRecord round = reporter.begin(server);
        const Arrivals arrived = run_round(run, fleet, round);
        if (evaluation_due(config, server.round)) round.test = evaluate(fleet, run);
        stop = stop_reached(config, round);
        if (on_clients_due(config, server.round, stop)) round.on_clients = evaluate_clients(fleet, run);
        round.lap(Phase::Evaluate);
        ++server.round;
        reporter.report(round, arrived, server);
        require_finite(config, server, round.test);
        checkpoints.round_ended(server);
    }
    return stop || server.round >= config.rounds;
}

}  // namespace fedhive::sim
