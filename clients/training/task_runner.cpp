#include "clients/training/task_runner.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "clients/training/batched_training.h"
#include "clients/training/supervised_batched_step.h"

#include <algorithm>
#include <numeric>

namespace fedhive::clients {

namespace {

FailureKind kind_of(const std::exception& error) {
    if (const auto* failed = dynamic_cast<const TaskFailed*>(&error)) return failed->kind;
    if (dynamic_cast<const OutOfMemory*>(&error) != nullptr || dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return FailureKind::OutOfMemory;
    if (dynamic_cast<const DeviceFault*>(&error) != nullptr) return FailureKind::DeviceError;
    return FailureKind::Exception;
}

std::size_t first_wanted(std::span<const Member> members) {
    const auto wanted = std::find_if(members.begin(), members.end(), [](const Member& one) { return one.left_out == 0; });
    return static_cast<std::size_t>(wanted - members.begin());
}

}  // namespace

void TaskRunner::require(bool holds, const char* what) {
    if (!holds) throw Fault(fmt::format("the task's {} is beyond what there is", what));
}

TaskRunner::TaskRunner(const ControlBlock& block, std::uint32_t worker, const aggregation::Arena& arena,
                       const SharedDataset& dataset, const WorkerPlan& plan, Trainer& trainer, std::function<bool()> stopping,
                       bool own_process, std::function<void()> wait_for_device)
    : block_(block),
      board_(block, worker),
      arena_(arena),
      dataset_(dataset),
      plan_(plan),
      trainer_(trainer),
      stopping_([this, asked = std::move(stopping)] { return withdrawn() || asked(); }),
      own_process_(own_process),
      wait_for_device_(wait_for_device ? std::move(wait_for_device) : [this] { aggregation::synchronize(arena_.space()); }),
      self_(block.worker(worker)),
      corrected_(plan.channels.find(aggregation::kControl) != nullptr ? std::make_unique<CorrectedStep>(trainer.step())
                                                                      : nullptr),
      states_(plan.states_descriptor >= 0
                  ? aggregation::ClientStates::open(plan.states_descriptor, dataset.map().num_clients, plan.state_floats)
                  : aggregation::ClientStates()),
      upload_(plan.upload.size > 0 ? UploadChain(plan.upload, model_layout(plan.model)) : UploadChain()),
      step_(corrected_ ? *corrected_ : trainer.step(), self_, stopping_, own_process),
      slot_sum_(arena.geometry().num_floats - plan.channels.floats_behind(), arena.space()),
      figures_(arena.space()) {}

bool TaskRunner::run_one() {
    const std::optional<Claim> claim = board_.claim();
    if (!claim) return false;
    TaskCell& cell = block_.task(claim->task_index);
    at_work_ = &cell;
    TaskPhase phase = TaskPhase::Done;
    try {
        run(cell);
    } catch (const RankMissing& missing) {
        cell.failure = FailureKind::Hung;
        cell.error.set(missing.what());
        cell.missing_rank = static_cast<std::uint32_t>(missing.rank) + 1;
        phase = unfinished(cell);
    } catch (const std::exception& error) {
        cell.failure = kind_of(error);
        cell.error.set(error.what());
        phase = unfinished(cell);
    }
    cell.finished_ns = now_ns();
    board_.finish(*claim, phase);
    return true;
}

/// What was enqueued before a task failed, or was withdrawn, still writes into its slot or the model. Nobody is told before the device is idle:
/// the slot has a new owner then.
TaskPhase TaskRunner::unfinished(TaskCell& cell) const {
    try {
        wait_for_device_();
    } catch (const std::exception& error) {
        // The work of a withdrawn task counts as well: a device that is lost is nobody's to go on with.
        if (cell.failure != FailureKind::DeviceError) {
            cell.failure = FailureKind::DeviceError;
            cell.error.set(error.what());
        }
        return TaskPhase::Failed;
    }
    return withdrawn() ? TaskPhase::Idle : TaskPhase::Failed;
}

bool TaskRunner::withdrawn() const { return at_work_->withdrawn.load(std::memory_order_acquire) != 0; }

void TaskRunner::run(TaskCell& cell) {
    switch (cell.task.kind) {
        case TaskKind::Train:
            return train(cell);
        case TaskKind::Gradient:
            return compute_gradient(cell.task);
        case TaskKind::InPlace:
            return train_in_place(cell.task);
        case TaskKind::Replica:
            return train_replica(cell);
        case TaskKind::LowerHalf:
            return train_half(cell, Half::Lower);
        case TaskKind::UpperHalf:
            return train_half(cell, Half::Upper);
        case TaskKind::Evaluate:
            return evaluate(cell);
        case TaskKind::EvaluateClients:
            return evaluate_clients(cell.task, false);
        case TaskKind::EvaluatePersonalized:
            return evaluate_clients(cell.task, true);
        case TaskKind::Aggregate:
            return aggregate(cell.task);
        case TaskKind::Empty:
            return;
    }
    throw Fault(fmt::format("unknown task kind {}", static_cast<std::uint32_t>(cell.task.kind)));
}

void TaskRunner::train(TaskCell& cell) {
    const Task task = cell.task;
    require(task.count >= 1 && task.first < block_.members().size() && task.count <= block_.members().size() - task.first,
            "last member");
    const aggregation::ParamSpan slot = arena_.slot(task.slot);
    const bool several = task.count > 1;
    figures_.reserve(task.count);
    const std::int64_t start_ns = now_ns();
    if (several) slot_sum_.zero_init();
    WholeClients* const whole = trainer_.whole_clients();
    const std::uint64_t at_once = std::max<std::uint64_t>(1, whole != nullptr ? whole->num_rows() : plan_.clients_at_once);
    for (std::uint64_t done = 0; done < task.count; done += at_once) {
        cell.started_ns.store(now_ns(), std::memory_order_relaxed);  // the deadline is one client's, not the slot's
        const std::uint64_t count = std::min(at_once, task.count - done);
        if (whole != nullptr)
            train_whole(cell, *whole, done, count);
        else if (count > 1)
            train_at_once(cell, done, count);
        else
            train_one(cell, done);
    }
    if (several) slot_sum_.finish(slot);
    if (one_wait())
        accept_all(cell, start_ns);
    else
        aggregation::synchronize(slot.space);
}

/// Clients that are trained at once are waited for together, before.
bool TaskRunner::one_wait() const { return arena_.space() == aggregation::MemorySpace::Cuda && plan_.clients_at_once <= 1; }

void TaskRunner::train_one(TaskCell& cell, std::uint64_t place) {
    if (block_.members()[cell.task.first + place].left_out != 0)
        slot_sum_.skip();
    else
        train_member(cell.task, cell.task.first + place);
    cell.members_done.store(place + 1, std::memory_order_relaxed);
}

void TaskRunner::train_member(const Task& task, std::uint64_t member) {
    const std::uint32_t client_id = client_of(member);
    const aggregation::ConstParamSpan region = arena_.global(task.global_index), global = model_of(region);
    const aggregation::ParamSpan slot = model_of(arena_.slot(task.slot));
    ClientFigures& figures = figures_[member - task.first];
    ClientResult& result = block_.results()[member];
    step_.expect(block_.members()[member].fault);
    if (corrected_)
        corrected_->correct(control_of(region), states_.clients() > 0 ? states_.of(client_id) : aggregation::ConstParamSpan());
    const LocalTraining training = plan_.training.of_repeat(task.repeat);
    result = enqueue_client(step_, training, task.objective, task.round, client_id, dataset_.shard(client_id), global, figures);
    const std::int64_t trained_ns = now_ns();
    upload_.apply(step_.parameters(), global, training.seed, task.round, client_id, residual_of(task, client_id));
    if (task.count > 1)
        slot_sum_.add_update(step_.parameters(), global, block_.members()[member].weight, figures.update);
    else
        aggregation::write_update(slot, step_.parameters(), global, figures.update);
    if (corrected_) write_control_change(task, training, client_id, result.steps);
    if (slot.space == aggregation::MemorySpace::Host) result.update_s = seconds_between(trained_ns, now_ns());
    if (!one_wait()) {
        aggregation::synchronize(slot.space);
        accept(member, finished(result, figures));
    }
    if (task.payload == Payload::Model) aggregation::copy(slot, step_.parameters());
    step_.update_written();
    states_.let_go(client_id);
}

/// Where an upload chain keeps one, the client has the slot for itself.
Residual TaskRunner::residual_of(const Task& task, std::uint32_t client_id) const {
    if (plan_.channels.find(aggregation::kResidual) == nullptr) return {};
    return {states_.of(client_id), plan_.channels.of(arena_.kept(task.slot), aggregation::kResidual)};
}

/// c_k^+ - c_k, behind the update in the slot.
void TaskRunner::write_control_change(const Task& task, const LocalTraining& training, std::uint32_t client_id,
                                      std::uint64_t steps) {
    const aggregation::ConstParamSpan region = arena_.global(task.global_index), control = control_of(region);
    const aggregation::ParamSpan change = control_of(arena_.slot(task.slot));
    if (plan_.control_variates == aggregation::ControlVariates::BySteps) {
        const aggregation::ConstParamSpan update = model_of(arena_.slot(task.slot)).first(change.size);
        return aggregation::write_control_change(change, update, control, steps, client_rate(task));
    }
    // The step's gradients are corrected: their mean is g + c - c_k, and g is what the client keeps.
    mean_gradient(step_, training, task.objective, task.round, client_id, dataset_.shard(client_id), model_of(region), change);
    aggregation::add_scaled(change, control, -1.0);
}

/// Of plain SGD, whose steps alone tell of gradients.
float TaskRunner::client_rate(const Task& task) const {
    return std::get<aggregation::SgdOptions>(plan_.optimizer).lr * task.objective.lr_factor;
}

/// Who is left out keeps its row, and is trained for nobody, so that the others' bits stay.
void TaskRunner::train_at_once(TaskCell& cell, std::uint64_t first, std::uint64_t count) {
    const Task task = cell.task;
    const std::span<const Member> members = block_.members().subspan(task.first + first, count);
    if (first_wanted(members) == count) {
        for (std::uint64_t place = 0; place < count; ++place) slot_sum_.skip();
        return cell.members_done.store(first + count, std::memory_order_relaxed);
    }
    std::vector<RowClient> clients;
    for (std::uint64_t place = 0; place < count; ++place) {
        const std::uint32_t client_id = client_of(task.first + first + place);
        clients.push_back({client_id, dataset_.shard(client_id)});
    }
    const std::vector<std::size_t> place_of = places_of_rows(plan_.training, clients);
    std::vector<std::size_t> row_of(count);
    std::vector<RowClient> rows;
    std::vector<InjectedFault> faults;
    for (const std::size_t place : place_of) {
        row_of[place] = rows.size();
        rows.push_back(clients[place]);
        faults.push_back(members[place].left_out != 0 ? InjectedFault{} : members[place].fault);
    }
    const auto blame = [&](std::size_t row) { cell.members_done.store(first + place_of[row], std::memory_order_relaxed); };
    const std::size_t blamed_row = row_of[first_wanted(members)];
    blame(blamed_row);
    SupervisedBatchedStep step(trainer_.batched_step(), self_, stopping_, own_process_);
    step.expect(std::move(faults), blamed_row, blame);
    const std::vector<ClientResult> results =
        train_clients(step, plan_.training, task.objective, task.round, rows, arena_.global(task.global_index), &upload_);
    for (std::uint64_t place = 0; place < count; ++place) {
        const std::size_t row = row_of[place];
        blame(row);
        if (members[place].left_out != 0) {
            slot_sum_.skip();
            continue;
        }
        accept(task.first + first + place, results[row]);
        slot_sum_.add(step.parameters(row), members[place].weight);
        step.update_written(row);
    }
    cell.members_done.store(first + count, std::memory_order_relaxed);
}

/// On a device the figures of all members come at once, when the task's work is done: the one wait of the task. Only its time is known then;
/// each member's is its share of the local steps.
void TaskRunner::accept_all(TaskCell& cell, std::int64_t start_ns) {
    const Task task = cell.task;
    cell.started_ns.store(now_ns(), std::memory_order_relaxed);
    aggregation::synchronize(arena_.space());
    const double seconds = seconds_between(start_ns, now_ns());
    std::vector<std::uint64_t> members;
    std::uint64_t steps = 0;
    for (std::uint64_t i = task.first; i < task.first + task.count; ++i) {
        if (block_.members()[i].left_out != 0) continue;
        members.push_back(i);
        steps += block_.results()[i].steps;
    }
    for (const std::uint64_t i : members) {
        cell.members_done.store(i - task.first, std::memory_order_relaxed);  // should it be to blame
        ClientResult result = finished(block_.results()[i], figures_[i - task.first]);
        result.seconds = seconds * static_cast<double>(result.steps) / static_cast<double>(steps);
        accept(i, result);
    }
    cell.members_done.store(task.count, std::memory_order_relaxed);
}

std::uint32_t TaskRunner::client_of(std::uint64_t member) const {
    require(member < block_.members().size(), "member");
    const std::uint32_t client_id = block_.members()[member].client_id;
    require(client_id < dataset_.map().num_clients, "client");
    return client_id;
}

void TaskRunner::accept(std::uint64_t member, const ClientResult& result) {
    block_.results()[member] = result;
    if (result.finite == 0) throw not_finite("the update", member);
    const double most = plan_.training.max_update_norm;
    if (most > 0.0 && result.update_norm > most)
        throw TaskFailed(FailureKind::NonFinite, fmt::format("the update's norm is {:.6g}, failures.max_update_norm is {:.6g}",
                                                             result.update_norm, most));
}

TaskFailed TaskRunner::not_finite(const char* what, std::uint64_t member) const {
    const bool injected = block_.members()[member].fault.kind == FaultKind::Nan;
    return {FailureKind::NonFinite, fmt::format("{}{} holds a NaN or an infinity{}{}", injected ? "injected: " : "", what,
                                                injected ? "" : "; ", injected ? "" : plan_.help_for_updates.get())};
}

aggregation::UpdateSummary TaskRunner::summary_of(aggregation::ParamSpan slot) {
    if (zeros_.span().size < slot.size) zeros_ = aggregation::ParamBuffer(slot.size, slot.space);
    return aggregation::write_update(slot, slot, zeros_.span().first(slot.size));
}

/// The batch of one of the client's local steps, in the order that train_client would take them.
std::span<const std::uint32_t> TaskRunner::batch_of(const Task& task, std::uint32_t client_id) {
    const std::span<const std::uint32_t> shard = dataset_.shard(client_id);
    const std::uint64_t per_epoch = plan_.training.steps_of_epoch(shard.size());
    const std::uint64_t epoch = task.step / per_epoch;
    EpochOrder& order = orders_[client_id];
    if (order.examples.empty() || order.round != task.round || order.epoch != epoch) {
        order = {task.round, epoch, {shard.begin(), shard.end()}};
        Stream shuffling(plan_.training.seed, Purpose::Shuffle, task.round, client_id);
        for (std::uint64_t i = 0; i <= epoch; ++i) shuffle(std::span(order.examples), shuffling);
    }
    const std::size_t first = task.step % per_epoch * plan_.training.batch_size;
    return std::span<const std::uint32_t>(order.examples)
        .subspan(first, std::min<std::size_t>(plan_.training.batch_size, shard.size() - first));
}

/// Dropout is keyed by the step too: whoever computes it, whatever was computed before.
void TaskRunner::compute_gradient(const Task& task) {
    const std::int64_t start_ns = now_ns();
    const std::uint32_t client_id = client_of(task.first);
    const std::span<const std::uint32_t> batch = batch_of(task, client_id);
    ClientStart start;
    start.global = arena_.global(task.global_index);
    start.objective = task.objective;
    const std::uint64_t of_client = Stream(plan_.training.seed, Purpose::Dropout, task.round, client_id).next_u64();
    start.dropout_seed = Stream(of_client, Purpose::Dropout, static_cast<std::uint32_t>(task.step)).next_u64();
    step_.expect(block_.members()[task.first].fault);
    const double gather_s = step_.gather_s();
    step_.begin(start);
    step_.compute_gradient(batch);

    const std::int64_t computed_ns = now_ns();
    const aggregation::ParamSpan slot = arena_.slot(task.slot);
    const aggregation::ParamSpan gradient = step_.gradient();
    aggregation::set_zero(slot);
    aggregation::copy(slot.first(gradient.size), gradient);
    const aggregation::UpdateSummary summary = summary_of(slot);
    const std::int64_t written_ns = now_ns();
    const bool on_host = slot.space == aggregation::MemorySpace::Host;
    accept(task.first, {.steps = 1,
                        .train_loss = step_.loss_sum() / static_cast<double>(batch.size()),
                        .update_norm = summary.norm,
                        .update_hash = summary.hash,
                        .finite = summary.finite ? 1U : 0U,
                        .seconds = seconds_between(start_ns, now_ns()),
                        .gather_s = step_.gather_s() - gather_s,
                        .update_s = on_host ? seconds_between(computed_ns, written_ns) : 0.0,
                        .start_ns = start_ns});
    step_.update_written();
}

void TaskRunner::train_in_place(const Task& task) {
    const std::uint32_t client_id = client_of(task.first);
    std::vector<std::uint32_t> all;
    std::span<const std::uint32_t> examples = dataset_.shard(client_id);
    if (plan_.all_examples) {
        all.resize(dataset_.map().num_train);
        std::iota(all.begin(), all.end(), 0U);
        examples = all;
    }
    step_.expect(block_.members()[task.first].fault);
    accept(task.first, train_hogwild(step_, plan_.training, task.round, client_id, examples, arena_.global(task.global_index),
                                     task.objective.lr_factor));
    aggregation::synchronize(arena_.space());
    step_.update_written();
}

/// A rule over a range is the rule over a shorter model.
void TaskRunner::aggregate(const Task& task) {
    const std::uint64_t total = arena_.geometry().num_floats;
    require(task.first <= total && task.count <= total - task.first, "last float");
    require(task.num_terms <= block_.terms().size(), "last update");
    if (!rule_ || rule_->column_rule() != task.rule) rule_ = aggregation::make_aggregator(task.rule);
    rule_->zero_init(task.count, arena_.space());
    for (const Term& term : block_.terms().first(task.num_terms))
        rule_->aggregate(
            {arena_.slot(term.slot).part(task.first, task.count), term.position, term.scale, term.weight, term.clients});
    aggregation::copy(arena_.aggregate().part(task.first, task.count), rule_->finish().values);
}

}  // namespace fedhive::clients
