#include "sim/fleet/fleet.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fedhive::sim {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

Fleet::Fleet(const FleetOptions& options, const clients::WorkerPlan& plan, const aggregation::Arena& arena,
             const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer)
    : options_(options),
      arena_(arena),
      dataset_(dataset),
      plan_(plan),
      deadlines_(options.failures.deadline_s),
      workforce_(
          options_,
          board_geometry(options, most_chunks(options, dataset.map(), arena.geometry()), arena.geometry().num_aggregates),
          plan_, arena, dataset, make_trainer, deadlines_.of_answer()),
      board_(options.mode, options.slots, workforce_.block(), workforce_.barrier()),
      policy_(options.failures),
      workload_(options_, plan_, dataset, deadlines_),
      flights_(options_, workload_, board_, policy_),
      chunks_(board_),
      recovery_(options_, arena, workforce_, policy_, board_, flights_, chunks_),
      wait_(workforce_, board_, policy_, recovery_),
      collector_(options_, arena, workload_, deadlines_, board_, flights_),
      reports_(options_, workforce_, workload_, deadlines_, board_, policy_, flights_),
      chunk_work_(options_, arena, deadlines_, board_, chunks_, wait_, reports_) {}

Fleet::~Fleet() = default;

void Fleet::train() {
    flights_.put_new();
    board_.ring();
}

Arrivals Fleet::barrier(ServerState& server, const Replace& replace) {
    const double began_s = server.now_s;
    try {
        return collector_.collect(options_.mode.late_join ? arrive_and_be_replaced(server, replace) : arrive_together(server),
                                  server);
    } catch (const clients::Interrupted& interrupted) {
        server.now_s = began_s;  // a checkpoint shows the state after the round before
        // If the model changes within a round, only the last checkpoint has a model that an unbroken run would have, too.
        throw clients::Interrupted(interrupted.signal_number, !options_.mode.model_changes_in_round());
    }
}

/// All flights that end the wait, of those in flight when it begins.
std::vector<ExpectedArrival> Fleet::arrive_together(const ServerState& server) {
    std::vector<ExpectedArrival> candidates = flights_.expected();
    if (options_.mode.max_staleness)
        candidates = allowed_next(std::move(candidates), server.version, *options_.mode.max_staleness);
    const std::size_t quorum = std::min(options_.mode.quorum, candidates.size());
    if (options_.order_is_known()) candidates = flights_.first_to_arrive(std::move(candidates), quorum);
    await(candidates, quorum, 0);
    reports_.exchange(candidates);
    if (!options_.order_is_known()) candidates = first_finished(std::move(candidates), quorum);
    flights_.count_arrivals(candidates.size());
    return candidates;
}

/// Arrivals one after the other. A flight that arrives before the last one is replaced, and its replacement may arrive within
/// the same wait. If the order is known, arrivals and replacements are settled before the first wait.
std::vector<ExpectedArrival> Fleet::arrive_and_be_replaced(ServerState& server, const Replace& replace) {
    std::vector<ExpectedArrival> arrived;
    bool to_be_told = false;
    while (arrived.size() < options_.mode.quorum) {
        const std::vector<ExpectedArrival> next = next_to_arrive(arrived.size());
        if (next.empty()) break;
        arrived.push_back(next.front());
        flights_.mark_arrived(next.front().slot);
        flights_.count_arrivals(1);
        if (options_.round_trip_s) server.now_s = std::max(server.now_s, next.front().arrives_s);
        if (arrived.size() == options_.mode.quorum || !replace) continue;
        replace(flights_.arrived_in_round());
        to_be_told = flights_.put_new() || to_be_told;
        if (options_.order_is_known() || !to_be_told) continue;
        board_.ring();
        to_be_told = false;
    }
    if (!options_.order_is_known()) return arrived;
    if (to_be_told) board_.ring();
    await(arrived, arrived.size(), 0);
    reports_.exchange(arrived);
    return arrived;
}

/// The next arrival, when `arrived` flights have arrived in this wait; empty if none is in flight.
std::vector<ExpectedArrival> Fleet::next_to_arrive(std::size_t arrived) {
    std::vector<ExpectedArrival> next = flights_.expected();
    if (next.empty()) return next;
    if (options_.order_is_known()) return flights_.first_to_arrive(std::move(next), 1);
    await(next, 1, arrived);
    return first_finished(std::move(next), 1);
}

/// Waits until `quorum` of these flights are done or lost; `before` others have arrived before in this round.
void Fleet::await(const std::vector<ExpectedArrival>& flights, std::size_t quorum, std::size_t before) {
    const auto awaited = [&] {
        Awaited next{{}, quorum, before};
        for (const ExpectedArrival& one : flights) {
            const Flight& flight = flights_.at(one.slot);
            const auto cells = flight.wanted() && !flight.elsewhere ? board_.cells_of(one.slot) : std::vector<std::size_t>{};
            next.cells.insert(next.cells.end(), cells.begin(), cells.end());
            // Count a lost flight as arrived. A flight has several cells if its client needs a pair: all of them must be done.
            next.quorum += cells.size();
            if (next.quorum > 0) --next.quorum;
        }
        return next;
    };
    wait_.until(awaited, 0.0);
}

std::vector<ExpectedArrival> Fleet::first_finished(std::vector<ExpectedArrival> candidates, std::size_t quorum) const {
    for (ExpectedArrival& one : candidates) {
        const Flight& flight = flights_.at(one.slot);
        if (flight.elsewhere) {
            one.arrives_s = static_cast<double>(flight.finished_ns);
            continue;
        }
        const bool here = !flight.wanted() || board_.is_done(one.slot);
        one.arrives_s = here ? static_cast<double>(board_.finished_ns(one.slot)) : kNever;
    }
    return first_by_time(std::move(candidates), quorum);
}

bool Fleet::release(const Arrivals& arrived, ServerState& server) {
    for (const std::size_t slot : arrived.slots) flights_.release(slot, server);
    flights_.pull_waiting(server);
    try {
        // A worker that was left behind notices it after its local step; until then it may write into its slot.
        wait_.until_let_go(flights_.withdrawn());
        flights_.all_have_let_go();
    } catch (const clients::Interrupted& interrupted) {
        throw clients::Interrupted(interrupted.signal_number, false);  // the model has changed, the round is not complete
    }
    return options_.mode.by_steps && flights_.any();
}

aggregation::Aggregator& Fleet::with_workers(aggregation::Aggregator& rule, const Arrivals& arrived) {
    const bool idle = workforce_.num_active() > 1 && flights_.withdrawn().empty() && options_.mode.workers_may_sum();
    if (!options_.ranks->is_alone()) return over_ranks(rule, idle);
    if (!idle) return rule;
    return chunk_work_.share(rule, arrived.updates.size() * arena_.geometry().stride_bytes(), flights_.round());
}

/// Made once per rule, so that its buffers last for all rounds.
aggregation::Aggregator& Fleet::over_ranks(aggregation::Aggregator& rule, bool workers_idle) {
    workers_may_sum_now_ = workers_idle;
    if (ranked_ && &ranked_->rule() == &rule) return *ranked_;
    const auto owner = [this](const aggregation::Update& update) { return flights_.at(update.slot).rank; };
    const auto local = [this](aggregation::Aggregator& sum, std::uint64_t updates) -> aggregation::Aggregator& {
        return workers_may_sum_now_ ? chunk_work_.share(sum, updates * arena_.geometry().stride_bytes(), flights_.round())
                                    : sum;
    };
    return ranked_.emplace(*options_.ranks, rule, owner, local, [this] { return reports_.patience(1, 1); });
}

std::vector<clients::EvaluationResult> Fleet::evaluate_personalized(const ServerState& server,
                                                                    const clients::Objective& objective) {
    std::uint64_t steps = 1;
    for (const std::uint32_t client : options_.evaluated_clients)
        steps = std::max(steps, plan_.training.steps_of_epoch(workload_.num_examples(client)));
    return chunk_work_.evaluate_personalized(server, dataset_.map(), objective, deadlines_.of_client(steps), steps);
}

void Fleet::empty_round(std::size_t count) {
    std::vector<std::size_t> cells(count);
    std::iota(cells.begin(), cells.end(), std::size_t{0});
    clients::Task task;
    task.deadline_s = deadlines_.of_chunk();
    for (const std::size_t cell : cells) workforce_.barrier().put(cell, task);
    board_.ring();
    wait_.until([&] { return Awaited{cells, count}; }, 0.0);
}

}  // namespace fedhive::sim
