#include "sim/fleet/fleet.h"

#include "aggregation/base/divide_up.h"
#include "sim/fleet/ranked_products.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace fedhive::sim {

Fleet::Fleet(const FleetOptions& options, const clients::WorkerPlan& plan, const aggregation::Arena& arena,
             const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer)
    : options_(options),
      arena_(arena),
      dataset_(dataset),
      plan_(plan),
      deadlines_(options.failures.deadline_s),
      workforce_(options_,
                 board_geometry(options, most_chunks(options, dataset.map(), arena.geometry()), arena.geometry(), plan.sums),
                 plan_, arena, dataset, make_trainer, deadlines_.of_answer()),
      board_(options.mode, options.slots, workforce_.block(), workforce_.barrier()),
      policy_(options.failures),
      order_(make_arrival_order(options_)),
      workload_(options_, *order_, plan_, dataset, deadlines_),
      flights_(options_, *order_, workload_, board_, policy_),
      chunks_(board_),
      recovery_(options_, arena, workforce_, policy_, board_, flights_, chunks_),
      wait_(workforce_, board_, policy_, recovery_),
      collector_(options_, *order_, arena, workload_, deadlines_, board_, flights_),
      reports_(options_, workforce_, workload_, deadlines_, board_, policy_, flights_),
      chunk_work_(options_, arena, plan_.sums, deadlines_, board_, chunks_, wait_, reports_) {}

Fleet::~Fleet() = default;

void Fleet::train() {
    flights_.put_new();
    board_.ring();
}

Arrivals Fleet::barrier(ServerState& server, const Replace& replace) {
    const double began_s = std::exchange(before_measuring_s_, {}).value_or(server.now_s);
    try {
        Arrivals arrived = collector_.collect(
            options_.mode.late_join ? arrive_and_be_replaced(server, replace) : arrive_together(server), server);
        arrived.traffic += std::exchange(measured_, {});
        return arrived;
    } catch (const clients::Interrupted& interrupted) {
        server.now_s = began_s;  // a checkpoint shows the state after the round before
        // If the model changes within a round, only the last checkpoint has a model that an unbroken run would have, too.
        throw clients::Interrupted(interrupted.signal_number, !options_.mode.model_changes_in_round());
    }
}

/// All flights that end the wait, of those in flight when it begins.
Expected Fleet::arrive_together(const ServerState& server) {
    Expected candidates = flights_.expected();
    if (options_.mode.max_staleness)
        candidates = allowed_next(std::move(candidates), server.version, *options_.mode.max_staleness);
    const std::size_t quorum = std::min(options_.mode.quorum, candidates.size());
    const ArrivalOrder::Wait wait = waits_after(0);
    Expected arrivals = order_->first(std::move(candidates), quorum, flights_.turn(), wait);
    order_->complete(arrivals, wait);
    flights_.count_arrivals(arrivals.size());
    await_root(arrivals.size());
    return arrivals;
}

/// Waits for the root client, also with a quorum. arrived: flights of the cohort that have arrived.
void Fleet::await_root(std::size_t arrived) {
    const std::optional<std::size_t> slot = flights_.root();
    if (!slot) return;
    Expected root{{.slot = *slot, .client_id = flights_.at(*slot).clients.front().client_id}};
    waits_after(arrived)(root, 1);
}

/// Arrivals one after the other. A flight that arrives before the last one is replaced, and its replacement may arrive within
/// the same wait. If the order is known, arrivals and replacements are settled before the first wait.
Expected Fleet::arrive_and_be_replaced(ServerState& server, const Replace& replace) {
    Expected arrived;
    while (arrived.size() < options_.mode.quorum) {
        Expected flying = flights_.expected();
        if (flying.empty()) break;
        const Expected next = order_->first(std::move(flying), 1, flights_.turn(), waits_after(arrived.size()));
        arrived.push_back(next.front());
        flights_.mark_arrived(next.front().slot);
        flights_.count_arrivals(1);
        order_->advance(server.now_s, next.front());
        if (arrived.size() == options_.mode.quorum || !replace) continue;
        replace(flights_.turn().arrived);
        has_new_ = flights_.put_new() || has_new_;
    }
    order_->complete(arrived, waits_after(0));
    return arrived;
}

/// A wait of this rank and the others; `before` flights have arrived before in this round.
ArrivalOrder::Wait Fleet::waits_after(std::size_t before) {
    return [this, before](Expected& flights, std::size_t quorum) {
        if (std::exchange(has_new_, false)) board_.ring();
        await(flights, quorum, before);
        reports_.exchange(flights);
        for (ExpectedArrival& one : flights) one.finished_ns = flights_.finished_ns(one.slot);
    };
}

/// Waits until `quorum` of these flights are done or lost; `before` others have arrived before in this round.
void Fleet::await(const Expected& flights, std::size_t quorum, std::size_t before) {
    const auto awaited = [&] {
        Awaited next{{}, quorum, before};
        for (const ExpectedArrival& one : flights) {
            const std::vector<std::size_t> cells = flights_.wanted_cells(one.slot);
            next.cells.insert(next.cells.end(), cells.begin(), cells.end());
            // Count a lost flight as arrived. A flight has several cells if its client needs a pair: all of them must be done.
            next.quorum += cells.size();
            if (next.quorum > 0) --next.quorum;
        }
        return next;
    };
    wait_.until(awaited, 0.0);
}

bool Fleet::release(const Arrivals& arrived, ServerState& server) {
    for (const std::size_t slot : arrived.slots) flights_.release(slot, server);
    flights_.release_root(server);
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

/// They are idle, and no worker may still write into a slot.
bool Fleet::workers_may_sum() const {
    return workforce_.num_active() > 1 && flights_.withdrawn().empty() && options_.mode.workers_may_sum();
}

/// The rank that has the update's values. A row of the server's rule is on every rank, and rank 0 counts as its owner.
std::uint32_t Fleet::rank_of(const aggregation::Update& update) const {
    return update.slot < board_.num_slots() ? flights_.at(update.slot).rank : 0;
}

aggregation::InnerProducts Fleet::inner_products(std::span<const aggregation::Update> updates, std::size_t base,
                                                 const ProductRows& rows_of) {
    if (!options_.ranks->is_alone())
        return products_over_ranks(
            *options_.ranks, updates, base, [this](const auto& update) { return rank_of(update); }, reports_.patience(1, 1),
            rows_of);
    return chunk_work_.products(updates, base, rows_of, workers_may_sum(), flights_.turn().round);
}

aggregation::Aggregator& Fleet::with_workers(aggregation::Aggregator& rule, std::size_t num_updates) {
    const bool idle = workers_may_sum();
    if (!options_.ranks->is_alone()) return over_ranks(rule, idle);
    if (!idle) return rule;
    return chunk_work_.share(rule, num_updates * arena_.geometry().stride_bytes(), flights_.turn().round);
}

/// Made once per rule, so that its buffers last for all rounds.
aggregation::Aggregator& Fleet::over_ranks(aggregation::Aggregator& rule, bool workers_idle) {
    workers_may_sum_now_ = workers_idle;
    if (ranked_ && &ranked_->rule() == &rule) return *ranked_;
    const auto owner = [this](const aggregation::Update& update) { return rank_of(update); };
    const auto local = [this](aggregation::Aggregator& sum, std::uint64_t updates) -> aggregation::Aggregator& {
        return workers_may_sum_now_ ? chunk_work_.share(sum, updates * arena_.geometry().stride_bytes(), flights_.turn().round)
                                    : sum;
    };
    return ranked_.emplace(*options_.ranks, rule, owner, local, [this] { return reports_.patience(1, 1); });
}

std::vector<clients::EvaluationSums> Fleet::evaluate_personalized(const ServerState& server, const clients::RoundRate& rate) {
    std::uint64_t steps = 1;
    for (const std::uint32_t client : options_.evaluated_clients)
        steps = std::max(steps, plan_.training.steps_of_epoch(workload_.num_examples(client)));
    return chunk_work_.evaluate_personalized(server, dataset_.map(), rate, deadlines_.of_client(steps), steps);
}

std::vector<std::optional<double>> Fleet::measure(ServerState& server, const Cohort& clients) {
    std::uint64_t steps = 1;
    double longest_s = 0.0;
    for (const std::uint32_t client : clients) {
        steps = std::max(steps, divide_up(workload_.examples_of_candidate(client), plan_.training.batch_size));
        longest_s = std::max(longest_s, workload_.measuring_s(server, client).value_or(0.0));
        measured_.down += workload_.traffic_to_measure(server, client).down;
    }
    std::vector<std::optional<double>> told;
    for (const double value : chunk_work_.measure(server, dataset_.map(), clients, deadlines_.of_client(steps), steps)) {
        told.push_back(std::isfinite(value) ? std::optional(value) : std::nullopt);
        if (told.back()) measured_.up += sizeof(double);
    }
    if (server.sent && server.sent->by_changes())
        server.sent->asked.insert(server.sent->asked.end(), clients.begin(), clients.end());
    if (!before_measuring_s_) before_measuring_s_ = server.now_s;
    server.now_s += longest_s;
    return told;
}

std::vector<double> Fleet::cross_losses(ServerState& server, Arrivals& arrived, std::uint32_t sent) {
    std::vector<std::uint32_t> clients;
    for (const aggregation::Update& update : arrived.updates)
        clients.push_back(arrived.clients[arrived.sender_of(update)].client_id);
    std::uint64_t steps = 1;
    double longest_s = 0.0;
    const Traffic traffic{(clients.size() - 1) * options_.model_bytes, 0};
    for (const std::uint32_t client : clients) {
        const std::uint64_t examples = workload_.examples_of_passes(client, clients.size());
        steps = std::max(steps, divide_up(examples, plan_.training.batch_size));
        longest_s = std::max(longest_s, order_->trip_s(client, examples, traffic).value_or(0.0));
        arrived.traffic += traffic;
    }
    server.now_s += longest_s;
    return chunk_work_.cross_losses(arrived.updates, clients, sent, flights_.turn().round, deadlines_.of_client(steps));
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
