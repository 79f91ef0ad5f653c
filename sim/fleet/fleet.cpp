#include "sim/fleet/fleet.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "sim/fleet/shared_aggregation.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

namespace fedhive::sim {

using clients::Task;
using clients::TaskKind;

namespace {

std::uint64_t divide_up(std::uint64_t total, std::uint64_t size) { return (total + size - 1) / size; }

/// The board: one cell a slot, in mode split a second one for its other half, then one a chunk of the evaluation or range of the aggregate.
clients::ControlGeometry control_geometry(const FleetOptions& options, const clients::DatasetMap& data,
                                          const aggregation::ArenaGeometry& arena) {
    const Mode& mode = options.mode;
    const std::uint64_t slots = mode.num_slots(options.slots);
    clients::ControlGeometry geometry;
    geometry.num_workers = std::max(1U, options.workers);
    const std::uint64_t chunks = std::max(divide_up(data.num_test, options.test_chunk), num_ranges(arena));
    geometry.max_tasks = static_cast<std::uint32_t>(mode.num_halves() * slots + chunks);
    geometry.max_terms = static_cast<std::uint32_t>(arena.num_aggregates * slots);
    geometry.max_members = std::max<std::uint64_t>(slots, mode.in_flight);
    geometry.num_ranks = static_cast<std::uint32_t>(mode.one_group() ? slots : mode.in_halves() ? 2 * slots : 0);
    return geometry;
}

}  // namespace

Fleet::Fleet(const FleetOptions& options, const clients::WorkerPlan& plan, const aggregation::Arena& arena,
             const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer)
    : options_(options),
      arena_(arena),
      dataset_(dataset),
      plan_(plan),
      deadlines_(options.failures.deadline_s),
      block_(clients::ControlBlock::create(control_geometry(options, dataset.map(), arena.geometry()))),
      watcher_([this] { block_.header().coordinator_bell.post(); }, [] { _exit(130); }),
      barrier_(block_, watcher_, deadlines_.of_answer(),
               {[this](std::size_t worker) { return pool_->autopsy(worker); },
                [this](std::size_t worker) {
                    if (pool_) pool_->kill(worker);
                }}),
      flights_(options.mode.num_slots(options.slots)) {
    block_.set_plan(plan_);
    if (options_.workers == 0) {
        trainer_ = make_trainer(plan_, dataset_);
        runner_ = std::make_unique<clients::TaskRunner>(
            block_, 0, arena_, dataset_, plan_, *trainer_, [this] { return watcher_.interrupt() != 0; }, false);
        return;
    }
    pool_ = std::make_unique<WorkerPool>(options_.workers, block_, watcher_, plan_, options_.logs, options_.worker_environment);
    active_.resize(options_.workers);
    std::iota(active_.begin(), active_.end(), std::size_t{0});
    num_active_ = active_.size();
}

Fleet::~Fleet() = default;

void Fleet::pull_down(const Cohort& cohort, ServerState& server, const Strategy& strategy) {
    std::size_t slot = 0;
    if (round_ != server.round) {
        round_ = server.round;
        arrived_in_round_ = 0;
        sent_in_round_.clear();
    }
    for (std::uint64_t first = 0, count = 0; first < cohort.size(); first += count) {
        while (flights_.at(slot)) ++slot;
        count = options_.slots.clients_of_next(cohort.size() - first);
        Flight flight;
        flight.task.first = options_.slots.shared() ? first : slot;
        for (std::uint64_t i = first; i < first + count; ++i)
            flight.clients.push_back({.client_id = cohort[i], .weight = strategy.weight(num_examples(cohort[i]))});
        flight.sent_round = server.round;
        flight.version = server.version;
        flight.task.objective = strategy.objective;
        flight.task.global_index = server.global_index;
        if (options_.mode.late_join) flight.task.repeat = sent_in_round_[cohort[first]]++;
        if (options_.mode.by_steps()) flight.steps_left = plan_.training.steps_of(num_examples(cohort[first])) - 1;
        flight.arrives_s = server.now_s + longest_trip_s(flight);
        send(slot, flight, server);
    }
    pull_waiting(server);
}

void Fleet::take_up(const InFlight& client, ServerState& server, const Strategy& strategy) {
    Flight flight;
    flight.clients.push_back({.client_id = client.client_id, .weight = client.weight});
    flight.sent_round = client.sent_round;
    flight.version = client.version;
    flight.arrives_s = client.arrives_s;
    flight.task.first = client.slot;
    flight.task.repeat = client.repeat;
    flight.task.objective = strategy.objective;
    flight.task.global_index = client.global_index;
    send(client.slot, flight, server);
}

void Fleet::send(std::size_t slot, const Flight& flight, ServerState& server) {
    FEDHIVE_CHECK(!flights_.at(slot), "slot {} is taken", slot);
    flights_[slot] = flight;
    Task& task = flights_[slot]->task;
    task.kind = options_.mode.task;
    task.num_ranks = static_cast<std::uint32_t>(options_.mode.group_size());
    task.velocity_index = Mode::kVelocityRegion;
    task.payload = options_.mode.payload;
    task.round = static_cast<std::uint32_t>(flight.sent_round);
    task.slot = static_cast<std::uint32_t>(slot);
    task.count = flight.clients.size();
    flights_[slot]->waiting = options_.mode.by_steps();
    flights_[slot]->waits_since = server.version;
    if (!flights_[slot]->waiting) ++server.readers[task.global_index];
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        block_.members()[member_index(slot, i)] = {
            .client_id = flight.clients[i].client_id, .weight = flight.clients[i].weight, .fault = {}};
        take_part(slot, i);
    }
}

void Fleet::train() {
    put_sent();
    barrier_.ring();
}

/// Everybody who is on the way and not on the board yet. False where there is nobody.
bool Fleet::put_sent() {
    std::vector<ExpectedArrival> waiting = expected_arrivals();
    // Who will be left behind anyway need not train.
    const std::size_t quorum = std::min(options_.mode.quorum, waiting.size());
    if (order_is_known() && !options_.mode.late_join && !options_.mode.by_steps())
        waiting = first_to_arrive(std::move(waiting), quorum);
    if (options_.mode.one_group())
        for (clients::RankCell& cell : block_.ranks()) cell.reset();
    bool any = false;
    for (const ExpectedArrival& one : waiting) {
        if (flights_[one.slot]->put) continue;
        if (options_.mode.in_halves())
            for (clients::RankCell& cell : block_.ranks().subspan(2 * one.slot, 2)) cell.reset();
        put(one.slot);
        any = true;
    }
    return any;
}

void Fleet::put(std::size_t slot) {
    Flight& flight = *flights_[slot];
    flight.put = true;
    if (!wanted(flight)) return;  // all of its clients were dropped
    flight.task.deadline_s = deadline_of(flight);
    const double due = due_of(flight);
    barrier_.put(cell_of(slot), flight.task, due);
    if (!options_.mode.in_halves()) return;
    Task upper = flight.task;
    upper.kind = TaskKind::UpperHalf;
    barrier_.put(cell_of(slot) + 1, upper, due);
}

/// Where the order of arrival has no meaning, or is known before anybody trains, those with the most examples begin: whoever is given a long
/// task last keeps all others waiting. Never a client's slot or place in the sum, only the order of the queue.
double Fleet::due_of(const Flight& flight) const {
    const Mode& mode = options_.mode;
    if (mode.late_join || mode.by_steps()) return flight.arrives_s;
    if (mode.quorum < mode.in_flight && !order_is_known()) return 0.0;
    std::uint64_t examples = 0;
    for (const Participant& client : flight.clients)
        if (!client.attempts.dropped) examples += examples_of(flight, client.client_id);
    return -static_cast<double>(examples);
}

std::vector<std::size_t> Fleet::cells_of(std::size_t slot) const {
    if (options_.mode.in_halves()) return {cell_of(slot), cell_of(slot) + 1};
    return {cell_of(slot)};
}

bool Fleet::is_done(std::size_t slot) const {
    const auto cells = cells_of(slot);
    return std::all_of(cells.begin(), cells.end(), [this](std::size_t cell) { return barrier_.done(cell); });
}

bool Fleet::wanted(const Flight& flight) {
    return std::any_of(flight.clients.begin(), flight.clients.end(),
                       [](const Participant& client) { return !client.attempts.dropped; });
}

double Fleet::deadline_of(const Flight& flight) const {
    double seconds = 0.0;
    for (const Participant& client : flight.clients)
        seconds = std::max(seconds,
                           deadlines_.of_client(divide_up(examples_of(flight, client.client_id), plan_.training.batch_size)));
    // Those who train at once have their time together.
    return seconds * static_cast<double>(std::min<std::uint64_t>(plan_.clients_at_once, flight.clients.size()));
}

/// What a client goes through in one of its passes.
std::uint64_t Fleet::examples_per_epoch(std::uint32_t client_id) const {
    if (options_.mode.one_group()) return divide_up(dataset_.map().num_train, options_.mode.in_flight);
    return plan_.all_examples ? dataset_.map().num_train : num_examples(client_id);
}

std::uint64_t Fleet::examples_of(const Flight& flight, std::uint32_t client_id) const {
    const std::uint64_t examples = examples_per_epoch(client_id);
    if (!options_.mode.by_steps()) return plan_.training.local_epochs * examples;
    const std::uint64_t steps = divide_up(examples, plan_.training.batch_size);
    const std::uint64_t first = (plan_.training.steps_of(examples) - 1 - flight.steps_left) % steps * plan_.training.batch_size;
    return std::min(plan_.training.batch_size, examples - first);
}

/// One model down, one update or gradient up; more where workers meet in every step.
Traffic Fleet::traffic_of(const Flight& flight, std::uint32_t client_id) const {
    const Mode& mode = options_.mode;
    const std::uint64_t examples = examples_of(flight, client_id);
    const std::uint64_t steps = divide_up(examples, plan_.training.batch_size);
    const std::uint64_t bytes = options_.model_bytes;
    if (mode.in_place()) return {steps * bytes, steps * bytes};
    if (mode.in_halves()) return {bytes + examples * options_.activation_bytes, bytes + examples * options_.activation_bytes};
    // Whichever way gradients are summed, all ranks together read 2 (R - 1) of them.
    if (mode.one_group()) return {bytes, steps * 2 * (mode.in_flight - 1) * bytes / mode.in_flight};
    return {bytes, bytes};
}

double Fleet::longest_trip_s(const Flight& flight) const {
    double longest = 0.0;
    if (!options_.round_trip_s) return longest;
    for (const Participant& client : flight.clients)
        longest = std::max(longest, options_.round_trip_s(client.client_id, examples_of(flight, client.client_id),
                                                          traffic_of(flight, client.client_id)));
    return longest;
}

std::vector<ExpectedArrival> Fleet::expected_arrivals() const {
    std::vector<ExpectedArrival> all;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot)
        if (const auto& flight = flights_[slot]; flight && !flight->waiting && !flight->arrived)
            all.push_back({slot, flight->clients.front().client_id, flight->version, flight->arrives_s});
    return all;
}

std::vector<ExpectedArrival> Fleet::first_to_arrive(std::vector<ExpectedArrival> expected, std::size_t quorum) const {
    if (options_.round_trip_s) return first_by_time(std::move(expected), quorum);
    static const std::vector<std::uint32_t> none;
    const auto round = static_cast<std::size_t>(round_);
    const auto& order = round < options_.recorded_arrivals.size() ? options_.recorded_arrivals[round] : none;
    return next_recorded(expected, order, arrived_in_round_, quorum);
}

std::vector<InFlight> Fleet::in_flight() const {
    std::vector<InFlight> all;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot) {
        if (!flights_[slot]) continue;
        const Flight& flight = *flights_[slot];
        for (const Participant& client : flight.clients)
            all.push_back({slot, client.client_id, client.weight, flight.sent_round, flight.task.repeat, flight.version,
                           flight.task.global_index, flight.arrives_s});
    }
    return all;
}

Cohort Fleet::on_their_way() const {
    Cohort clients;
    for (const auto& flight : flights_)
        if (flight && !flight->arrived)
            for (const Participant& client : flight->clients) clients.push_back(client.client_id);
    std::sort(clients.begin(), clients.end());
    return clients;
}

void Fleet::settle(const std::function<Awaited()>& awaited, double grace_s) {
    std::size_t done_before = 0;
    const std::uint32_t finished = block_.header().finished.load(std::memory_order_relaxed);
    for (;;) {
        const Awaited wait_for = awaited();
        finished_before_ = finished - static_cast<std::uint32_t>(wait_for.before);
        awaited_ = static_cast<std::uint32_t>(wait_for.before + wait_for.quorum);
        const std::vector<clients::FoundFailure> found =
            runner_ ? barrier_.run_here(
                          wait_for.cells, wait_for.quorum, [this] { return runner_->run_one(); }, grace_s)
                    : barrier_.wait(wait_for.cells, wait_for.quorum, grace_s);
        if (found.empty()) {
            if (wait_for.quorum > 0) counts_.deaths_in_a_row = 0;
            return;
        }
        const auto done = static_cast<std::size_t>(std::count_if(wait_for.cells.begin(), wait_for.cells.end(),
                                                                 [this](std::size_t cell) { return barrier_.done(cell); }));
        if (done > done_before) counts_.deaths_in_a_row = 0;
        done_before = done;
        resolve(found);
    }
}

void Fleet::throw_if_interrupted() const {
    if (watcher_.interrupt() != 0) throw clients::Interrupted(watcher_.interrupt());
}

std::pair<std::size_t, std::size_t> Fleet::tasks_done() const {
    const std::uint32_t finished = block_.header().finished.load(std::memory_order_relaxed);
    return {finished - finished_before_.load(), awaited_.load()};
}

std::pair<std::size_t, std::size_t> Fleet::workers_busy() const {
    std::size_t busy = 0;
    const std::uint32_t cells = block_.header().num_tasks.load(std::memory_order_relaxed);
    for (std::uint32_t cell = 0; cell < cells; ++cell) {
        const std::uint64_t word = block_.task(cell).state.load(std::memory_order_relaxed);
        if (clients::TaskState::unpack(word).phase == clients::TaskPhase::Claimed) ++busy;
    }
    return {busy, num_active_.load()};
}

void Fleet::empty_round(std::size_t count) {
    std::vector<std::size_t> cells(count);
    std::iota(cells.begin(), cells.end(), std::size_t{0});
    Task task;
    task.deadline_s = deadlines_.of_chunk();
    for (const std::size_t cell : cells) barrier_.put(cell, task);
    barrier_.ring();
    settle([&] { return Awaited{cells, count}; }, 0.0);
}

}  // namespace fedhive::sim
