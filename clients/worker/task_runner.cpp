#include "clients/worker/task_runner.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"

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
      training_(plan.training),
      trainer_(trainer),
      stopping_([this, asked = std::move(stopping)] { return withdrawn() || asked(); }),
      own_process_(own_process),
      wait_for_device_(wait_for_device ? std::move(wait_for_device) : [this] { aggregation::synchronize(arena_.space()); }),
      self_(block.worker(worker)),
      supervision_(self_, stopping_, own_process),
      states_(plan.states_descriptor >= 0
                  ? aggregation::ClientStates::open(plan.states_descriptor, dataset.map().num_clients, plan.state_floats)
                  : aggregation::ClientStates()),
      local_part_(plan.model),
      upload_(plan.upload.size > 0 ? UploadChain(plan.upload, model_layout(plan.model)) : UploadChain()),
      local_step_(trainer.step(), plan.clip_norm),
      correction_(plan.channels.find(aggregation::kControl) != nullptr
                      ? &local_step_.add<GradientCorrection>(plan.channels, arena.space())
                      : nullptr),
      step_(local_step_, self_, stopping_, own_process),
      slot_sum_(arena.geometry().num_floats - plan.channels.floats_behind(), arena.space()),
      figures_(arena.space()) {
    training_.counted = CountedTargets::of(dataset.train());
}

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

/// The phase of a task that failed or was withdrawn, reported only when the device is idle: enqueued work still writes to the
/// slot or the model, and the slot gets a new owner after the report.
TaskPhase TaskRunner::unfinished(TaskCell& cell) const {
    try {
        wait_for_device_();
    } catch (const std::exception& error) {
        // Reported for a withdrawn task, too: after a device error, this process cannot continue on the device.
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

std::uint32_t TaskRunner::client_of(std::uint64_t member) const {
    require(member < block_.members().size(), "member");
    const std::uint32_t client_id = block_.members()[member].client_id;
    require(client_id < dataset_.map().num_clients, "client");
    return client_id;
}

void TaskRunner::accept(std::uint64_t member, const ClientResult& result) {
    block_.results()[member] = result;
    if (result.finite == 0) throw not_finite("the update", member);
    const double most = training_.max_update_norm;
    if (most > 0.0 && result.update_norm > most)
        throw TaskFailed(
            FailureKind::NonFinite,
            fmt::format("the update's norm is {:.6g}, above failures.max_update_norm {:.6g}", result.update_norm, most));
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

/// The batch of the client's local step task.step, in the order of enqueue_clients().
RowBatch TaskRunner::batch_of(const Task& task, std::uint32_t client_id) {
    auto found = batches_.find(client_id);
    if (found == batches_.end() || found->second.round != task.round) {
        const LocalBatches of_round(training_, task.round, client_id, dataset_.shard(client_id));
        found = batches_.insert_or_assign(client_id, RoundBatches{task.round, of_round}).first;
    }
    return found->second.batches.at(task.step);
}

/// Writes the gradient of one local step to the slot. The step's number is part of dropout's key, so that the draws depend
/// neither on the worker nor on earlier steps.
void TaskRunner::compute_gradient(const Task& task) {
    const std::int64_t start_ns = now_ns();
    const std::uint32_t client_id = client_of(task.first);
    RowBatch batch = batch_of(task, client_id);
    ClientStart start;
    start.global = arena_.global(task.global_index);
    start.objective = task.objective;
    start.dropout_seed =
        Stream(batch.augmentation_key.seed, Purpose::Dropout, static_cast<std::uint32_t>(task.step)).next_u64();
    batch.augmentation_key = {start.dropout_seed, 0};
    batch.lookahead = {};  // any worker may compute the next step
    step_.expect(block_.members()[task.first].fault);
    const double gather_s = step_.gather_s();
    step_.begin(start);
    step_.compute_gradients({&batch, 1});

    const std::int64_t computed_ns = now_ns();
    const aggregation::ParamSpan slot = arena_.slot(task.slot);
    const aggregation::ParamSpan gradient = step_.gradient();
    aggregation::set_zero(slot);
    aggregation::copy(slot.first(gradient.size), gradient);
    ClientResult result{.steps = 1,
                        .train_loss = mean_loss_of(step_.loss_sum(), training_.counted.examples_in(batch.examples)),
                        .gather_s = step_.gather_s() - gather_s,
                        .start_ns = start_ns};
    tell_update(result, summary_of(slot));
    deal_out_time({&result, 1}, on_device() ? 0.0 : seconds_between(computed_ns, now_ns()));
    accept(task.first, result);
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
    accept(task.first, train_hogwild(step_, training_, task.round, client_id, examples, arena_.global(task.global_index),
                                     task.objective.lr_factor));
    aggregation::synchronize(arena_.space());
    step_.update_written();
}

/// Aggregates a range of the parameters: the rule runs as over a shorter model.
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
