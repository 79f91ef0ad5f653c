#include "clients/worker/train_task.h"

#include "aggregation/base/clock.h"
#include "aggregation/math/vector_ops.h"
#include "clients/tasks/measures.h"
#include "clients/visit/loss_visit.h"

namespace fedhive::clients {

namespace {

/// Sets the member to whom the coordinator attributes a failure from now on.
void blame(TaskCell& cell, std::uint64_t place) { cell.members_done.store(place, std::memory_order_relaxed); }

UploadChain upload_chain(const WorkerContext& worker) {
    if (worker.plan.upload.size == 0) return {};
    const aggregation::Layout layout = model_layout(worker.plan.model);
    return {worker.plan.upload, layout, layout.without(worker.local_part.names())};
}

/// Null without strategy.visit. Each batch that a visit takes is a sign of life.
std::unique_ptr<PythonClients> python_clients_of(const WorkerContext& worker) {
    if (!worker.plan.visit.given()) return nullptr;
    return make_python_clients(worker.plan, worker.dataset, !worker.own_process, [&worker](bool moved) {
        if (moved) worker.supervision.beat();
        worker.supervision.throw_if_stopping();
    });
}

WholeClients& whole_clients_of(Trainer& trainer, WholeClients* python, WholeClients& by_steps) {
    WholeClients* const own = python != nullptr ? python : trainer.whole_clients();
    return own != nullptr ? *own : by_steps;
}

}  // namespace

TrainTask::TrainTask(WorkerContext& worker)
    : worker_(worker),
      upload_(upload_chain(worker)),
      by_steps_(worker.step, std::max<std::uint64_t>(1, worker.plan.clients_at_once),
                [this]() -> TrainingStep& { return many_rows(); }),
      python_(python_clients_of(worker)),
      clients_(whole_clients_of(worker.trainer, python_.get(), by_steps_)),
      slot_sum_(worker.arena.geometry().num_floats - worker.plan.memories.floats_behind(), worker.arena.space()),
      figures_(worker.arena.space()) {
    if (worker.plan.reports.has(kWithinClip)) within_clip_ = worker.plan.reports.index_of(kWithinClip);
    if (any_measured(worker.plan.reports))
        measure_.emplace(worker.trainer.evaluation(), worker.bare_step, worker.measure_options(), worker.plan.reports);
    if (!worker.plan.method.empty()) {
        formulas_.emplace(worker.plan.method, worker.plan.memories, model_layout(worker.plan.model), worker.local_part,
                          worker.plan.reports, worker.arena.space(), worker.plan.row_sizes());
        formulas_->add_to(worker.local_step);
        if (OutputLoss* const loss = worker.trainer.output_loss()) tell_steps(worker.local_step, *loss);
    }
}

TrainingStep& TrainTask::many_rows() {
    if (!many_rows_) {
        many_rows_.emplace(worker_.trainer.step_at_once(), worker_.plan.clip_norm);
        if (formulas_) formulas_->add_to(*many_rows_);
        supervised_many_rows_.emplace(*many_rows_, worker_.supervision);
    }
    return *supervised_many_rows_;
}

void TrainTask::run(TaskCell& cell) {
    const Task task = cell.task;
    const std::size_t num_members = worker_.block.members().size();
    require(task.count >= 1 && task.first < num_members && task.count <= num_members - task.first, "last member");
    figures_.reserve(task.count);
    if (task.count > 1) slot_sum_.zero_init();
    for (std::uint64_t first = 0; first < task.count; first += clients_.num_rows()) {
        cell.started_ns.store(recent_ns(), std::memory_order_relaxed);  // the deadline applies to a client, not to the slot
        train_at_once(cell, first, std::min<std::uint64_t>(clients_.num_rows(), task.count - first));
    }
    if (task.count > 1) slot_sum_.finish(worker_.arena.slot(task.slot));
    if (worker_.on_device()) accept_all(cell);
}

void TrainTask::train_at_once(TaskCell& cell, std::uint64_t first, std::uint64_t count) {
    const Task task = cell.task;
    const LocalTraining training = worker_.training.of_repeat(task.repeat);
    prepare_rows(task, first, count);
    const bool anybody = !rows_.clients.empty();
    const aggregation::ConstParamSpan start =
        anybody ? worker_.start_of(task, rows_.clients.front().client_id) : worker_.global_model(task);
    if (anybody) train_rows(cell, training, start);

    const std::int64_t trained_ns = now_ns();
    for (std::uint64_t place = first; place < first + count; ++place) {
        blame(cell, place);
        if (worker_.block.members()[task.first + place].left_out != 0) {
            slot_sum_.skip();
            continue;
        }
        const std::size_t row = rows_.row_of(place);
        const bool within = write_update(task, place, clients_.parameters_of(row), training, start);
        if (within_clip_) rows_.results[row].reports[*within_clip_] = within ? 1.0 : 0.0;
        worker_.block.results()[task.first + place] = rows_.results[row];
    }
    if (anybody && !worker_.on_device()) accept_rows(cell, trained_ns);
    for (std::size_t row = 0; row < rows_.places.size(); ++row) {
        blame(cell, rows_.places[row]);
        worker_.supervision.update_written(row, clients_.parameters_of(row));
        worker_.states.release_pages(rows_.clients[row].client_id);
    }
    blame(cell, first + count);
}

/// Fills rows_ with the clients to train: those whose updates are wanted, and, if rows share steps, the others as well.
void TrainTask::prepare_rows(const Task& task, std::uint64_t first, std::uint64_t count) {
    rows_.clear();
    const std::span<const Member> members = worker_.block.members().subspan(task.first, task.count);
    const auto is_wanted = [&](std::uint64_t place) { return members[place].left_out == 0; };
    const auto client_at = [&](std::uint64_t place) -> RowClient {
        const std::uint32_t client_id = worker_.client_of(task.first + place);
        return {client_id, worker_.dataset.shard(client_id), &figures_[place]};
    };
    if (count == 1) {
        if (is_wanted(first)) rows_.add(first, client_at(first), members[first].fault);
        return;
    }
    std::vector<RowClient> clients;
    bool anybody = false;
    for (std::uint64_t place = first; place < first + count; ++place) {
        anybody = anybody || is_wanted(place);
        clients.push_back(client_at(place));
    }
    if (!anybody) return;
    for (const std::size_t member : places_of_rows(worker_.training, clients)) {
        const std::uint64_t place = first + member;
        if (is_wanted(place))
            rows_.add(place, clients[member], members[place].fault);
        else if (clients_.rows_share_steps())
            rows_.add(place, clients[member], {});
    }
}

/// The member to whom all failures except injected faults are attributed: the first that is not left out. Blaming one that is
/// already left out would change nothing.
std::uint64_t TrainTask::first_wanted(const Task& task) const {
    std::uint64_t first = task.count;
    for (const std::uint64_t place : rows_.places)
        if (worker_.block.members()[task.first + place].left_out == 0) first = std::min(first, place);
    return first;
}

/// Measures the model that was sent on the examples of each client whose update is wanted.
void TrainTask::measure_rows(TaskCell& cell, aggregation::ConstParamSpan start) {
    if (!measure_) return;
    const auto after_piece = [&] {
        worker_.supervision.beat();
        worker_.supervision.throw_if_stopping();
    };
    measure_->begin(start);
    for (std::size_t row = 0; row < rows_.clients.size(); ++row) {
        if (worker_.block.members()[cell.task.first + rows_.places[row]].left_out != 0) continue;
        blame(cell, rows_.places[row]);
        const RowClient& client = rows_.clients[row];
        measure_->measure({cell.task.round, client.client_id, client.shard}, rows_.measured[row], after_piece);
    }
}

/// Injected faults fire in the first step, or after clients without steps of their own have been enqueued: a worker dies while
/// they train, a NaN appears among their results.
void TrainTask::train_rows(TaskCell& cell, const LocalTraining& training, aggregation::ConstParamSpan start) {
    const Task task = cell.task;
    Supervision& supervision = worker_.supervision;
    const std::uint64_t blamed = first_wanted(task);
    const std::int64_t began_ns = measure_ ? now_ns() : 0;
    measure_rows(cell, start);
    blame(cell, blamed);
    supervision.beat();
    supervision.throw_if_stopping();
    const aggregation::ConstParamSpan began = formulas_ ? begin_formulas(task, training, start) : start;
    supervision.expect(rows_.faults, rows_.row_of(blamed), [&](std::size_t row) { blame(cell, rows_.places[row]); });
    if (python_) python_->begin(worker_.memories_of(task, rows_.clients.front().client_id));
    clients_.train(training, task.rate, task.round, rows_.clients, began, rows_.results);
    for (std::size_t row = 0; measure_ && row < rows_.results.size(); ++row) {
        rows_.results[row].reports = rows_.measured[row];
        rows_.results[row].start_ns = began_ns;
    }
    supervision.fire_in_training([&](std::size_t row) { return clients_.parameters_of(row); });
}

/// Returns the model where the visits of rows_ begin. Several rows share the values that formulas read.
aggregation::ConstParamSpan TrainTask::begin_formulas(const Task& task, const LocalTraining& training,
                                                      aggregation::ConstParamSpan sent) {
    const RowClient& first = rows_.clients.front();
    if (worker_.plan.mean_gradient)
        formulas_->take_gradient(worker_.bare_step, training, {task.round, first.client_id, first.shard}, sent);
    const std::size_t examples = first.shard.size();
    const VisitFacts facts =
        VisitFacts::of(task.round, examples, training.steps_of(examples), worker_.plan.optimizer, task.rate);
    const auto loss_of = [&](aggregation::ConstParamSpan model) {
        const auto after_piece = [&] {
            worker_.supervision.beat();
            worker_.supervision.throw_if_stopping();
        };
        return mean_loss_of_model(worker_.trainer.evaluation(), worker_.measure_options(), model, first.shard, after_piece);
    };
    const aggregation::VisitMemories memories = worker_.memories_of(task, first.client_id);
    const aggregation::ConstParamSpan began = formulas_->begin(memories, sent, facts, loss_of);
    formulas_->tables().begin(memories, facts, formulas_->numbers(), worker_.dataset.train(), first.shard);
    clients_.begin_formulas(*formulas_);
    if (OutputLoss* const loss = worker_.trainer.output_loss())
        begin_loss(*loss, *formulas_, facts, worker_.dataset.train(), first.shard);
    return began;
}

/// Sums what the trained model gives for the client's examples, by class.
void TrainTask::measure_by_class(aggregation::ConstParamSpan trained) {
    formulas_->measure(worker_.trainer.evaluation(), trained, worker_.dataset.train(worker_.arena.space()),
                       worker_.plan.evaluation_chunk, [&] {
                           worker_.supervision.beat();
                           worker_.supervision.throw_if_stopping();
                       });
}

/// Writes a client's update: applies the upload chain, then writes to the slot or adds to the
/// slot's sum. No other function does this. False if the update was longer than the round's clip norm.
bool TrainTask::write_update(const Task& task, std::uint64_t place, aggregation::ParamSpan local, const LocalTraining& training,
                             aggregation::ConstParamSpan start) {
    const std::uint64_t member = task.first + place;
    const std::uint32_t client_id = worker_.block.members()[member].client_id;
    const aggregation::ParamSpan slot = worker_.update_of(task);
    const aggregation::VisitMemories memories = memories_of(task, client_id);
    const LocalPart& local_part = worker_.local_part;
    if (formulas_ && formulas_->tables().measures()) measure_by_class(local);
    if (!local_part.empty()) {
        if (!aggregation::all_finite(local_part.take(memories, local)))
            throw worker_.not_finite("the part that stays on the client", member);
        local_part.hide(local, start);
    }
    if (formulas_ && formulas_->has_end()) {
        aggregation::synchronize(worker_.arena.space());  // the figures are complete
        // A chain may drop what is not finite from the update, and memories keep it.
        if (!upload_.empty() && !aggregation::all_finite(local)) throw worker_.not_finite("the update", member);
        const ClientFigures& figures = figures_[place];
        ClientResult& result = rows_.results[rows_.row_of(place)];
        if (!formulas_->end(memories, local, result, mean_loss_of(figures.loss_sum, figures.examples), result.reports))
            throw worker_.not_finite("what the client tells by class", member);
    }
    if (python_ && !python_->end(memories, rows_.results[rows_.row_of(place)].reports))
        throw worker_.not_finite("what the client keeps", member);
    bool within = true;
    if (!worker_.dataset.map().is_root(client_id)) {  // the root client's update never leaves the server
        within = upload_.apply(local, start, training.seed, task.round, client_id, task.num_together, memories, task.clip_norm);
        if (!upload_.empty()) local_part.hide(local, start);  // noise was added to every value
    }
    if (task.count > 1)
        slot_sum_.add_update(local, start, worker_.block.members()[member].weight, figures_[place].update);
    else
        aggregation::write_update(slot, local, start, figures_[place].update);
    if (task.payload == Payload::Model) aggregation::copy(slot, local);
    return within;
}

/// The client's memories, with room in and beside the slot, which then holds this one client.
aggregation::VisitMemories TrainTask::memories_of(const Task& task, std::uint32_t client_id) const {
    aggregation::VisitMemories memories = worker_.memories_of(task, client_id);
    memories.slot = worker_.arena.slot(task.slot);
    memories.beside = worker_.arena.kept(task.slot);
    return memories;
}

/// trained_ns: when their updates were begun.
void TrainTask::accept_rows(TaskCell& cell, std::int64_t trained_ns) {
    const std::int64_t end_ns = now_ns();
    deal_out_time(rows_.results, seconds_between(trained_ns, end_ns), end_ns);
    for (std::size_t row = 0; row < rows_.places.size(); ++row) finish(rows_.results[row], figures_[rows_.places[row]]);
    // In the members' order: the first with a non-finite update gets the blame.
    const auto [first, last] = std::minmax_element(rows_.places.begin(), rows_.places.end());
    for (std::uint64_t place = *first; place <= *last; ++place) {
        if (worker_.block.members()[cell.task.first + place].left_out != 0) continue;
        blame(cell, place);
        worker_.accept(cell.task.first + place, rows_.results[rows_.row_of(place)]);
    }
}

/// Accepts all members after the task's only wait for the device, when their figures are complete. Only the task's total time
/// is known; each member gets the share of its local steps.
void TrainTask::accept_all(TaskCell& cell) {
    const Task task = cell.task;
    cell.started_ns.store(now_ns(), std::memory_order_relaxed);
    aggregation::synchronize(worker_.arena.space());
    std::vector<std::uint64_t> places;
    std::vector<ClientResult> results;
    for (std::uint64_t place = 0; place < task.count; ++place) {
        if (worker_.block.members()[task.first + place].left_out != 0) continue;
        places.push_back(place);
        results.push_back(worker_.block.results()[task.first + place]);
    }
    if (!results.empty()) deal_out_time(results);
    for (std::size_t i = 0; i < places.size(); ++i) {
        blame(cell, places[i]);
        finish(results[i], figures_[places[i]]);
        worker_.accept(task.first + places[i], results[i]);
    }
    blame(cell, task.count);
}

}  // namespace fedhive::clients
