// The runner's main task: trains the members of a slot, one at a time or many at once, and writes their updates to it.
#include "aggregation/base/clock.h"
#include "aggregation/math/vector_ops.h"
#include "clients/worker/task_runner.h"

#include <algorithm>

namespace fedhive::clients {

namespace {

/// Sets the member to whom the coordinator attributes a failure from now on.
void blame(TaskCell& cell, std::uint64_t place) { cell.members_done.store(place, std::memory_order_relaxed); }

}  // namespace

void TaskRunner::train(TaskCell& cell) {
    const Task task = cell.task;
    require(task.count >= 1 && task.first < block_.members().size() && task.count <= block_.members().size() - task.first,
            "last member");
    figures_.reserve(task.count);
    if (task.count > 1) slot_sum_.zero_init();
    for (std::uint64_t first = 0; first < task.count; first += members_at_once()) {
        cell.started_ns.store(now_ns(), std::memory_order_relaxed);  // the deadline applies to a client, not to the slot
        train_at_once(cell, first, std::min(members_at_once(), task.count - first));
    }
    if (task.count > 1) slot_sum_.finish(arena_.slot(task.slot));
    if (on_device()) accept_all(cell);
}

std::uint64_t TaskRunner::members_at_once() const {
    const WholeClients* const whole = trainer_.whole_clients();
    return std::max<std::uint64_t>(1, whole != nullptr ? whole->num_rows() : plan_.clients_at_once);
}

void TaskRunner::train_at_once(TaskCell& cell, std::uint64_t first, std::uint64_t count) {
    const Task task = cell.task;
    const LocalTraining training = training_.of_repeat(task.repeat);
    WholeClients* const whole = trainer_.whole_clients();
    prepare_rows(task, first, count);
    const bool anybody = !rows_.clients.empty();
    if (anybody) blame(cell, first_wanted(task));
    SupervisedStep& step = anybody && whole == nullptr && count > 1 ? step_at_once() : step_;
    const aggregation::ConstParamSpan global = model_of(aggregation::ConstParamSpan(arena_.global(task.global_index)));
    const aggregation::ConstParamSpan start = anybody ? start_of(rows_.clients.front().client_id, global) : global;
    if (anybody && whole != nullptr) train_whole(task, *whole, training, start);
    if (anybody && whole == nullptr) train_rows(cell, step, training, start);

    const std::int64_t trained_ns = now_ns();
    for (std::uint64_t place = first; place < first + count; ++place) {
        const Member& member = block_.members()[task.first + place];
        blame(cell, place);
        if (member.left_out != 0) {
            slot_sum_.skip();
            continue;
        }
        const std::size_t row = rows_.row_of(place);
        const aggregation::ParamSpan local = whole != nullptr ? whole->parameters_of(row) : step.parameters_of(row);
        if (whole != nullptr && member.fault.at_update == 0) supervision_.fire(member.fault, local);
        leave(task, place, local, training, start);
        block_.results()[task.first + place] = rows_.results[row];
    }
    if (anybody && !on_device()) accept_rows(cell, seconds_between(trained_ns, now_ns()));
    for (std::size_t row = 0; row < rows_.places.size(); ++row) {
        blame(cell, rows_.places[row]);
        supervision_.beat();
        if (rows_.faults[row].at_update != 0)
            supervision_.fire(rows_.faults[row], whole != nullptr ? whole->parameters_of(row) : step.parameters_of(row));
        states_.let_go(rows_.clients[row].client_id);
    }
    blame(cell, first + count);
}

/// Fills rows_ with the clients to train. A left-out client still trains if rows share a step, so that the others' bits do not
/// change; otherwise it is skipped.
void TaskRunner::prepare_rows(const Task& task, std::uint64_t first, std::uint64_t count) {
    rows_.clear();
    const std::span<const Member> members = block_.members().subspan(task.first, task.count);
    const auto is_wanted = [&](std::uint64_t place) { return members[place].left_out == 0; };
    const auto client_at = [&](std::uint64_t place) -> RowClient {
        const std::uint32_t client_id = client_of(task.first + place);
        return {client_id, dataset_.shard(client_id), &figures_[place]};
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
    const bool share_a_step = trainer_.whole_clients() == nullptr;
    for (const std::size_t member : places_of_rows(training_, clients)) {
        const std::uint64_t place = first + member;
        if (is_wanted(place))
            rows_.add(place, clients[member], members[place].fault);
        else if (share_a_step)
            rows_.add(place, clients[member], {});
    }
}

/// The member to whom all failures except injected faults are attributed: the first that is not left out. Blaming one that is
/// already left out would change nothing.
std::uint64_t TaskRunner::first_wanted(const Task& task) const {
    std::uint64_t first = task.count;
    for (const std::uint64_t place : rows_.places)
        if (block_.members()[task.first + place].left_out == 0) first = std::min(first, place);
    return first;
}

/// The global model with the client's own values in the local part. Clients with a local part train alone.
aggregation::ConstParamSpan TaskRunner::start_of(std::uint32_t client_id, aggregation::ConstParamSpan global) {
    return local_part_.empty() ? global : local_part_.start(global, states_.of(client_id), start_);
}

void TaskRunner::train_rows(TaskCell& cell, SupervisedStep& step, const LocalTraining& training,
                            aggregation::ConstParamSpan start) {
    const Task task = cell.task;
    if (correction_ != nullptr) {
        const aggregation::ConstParamSpan region = arena_.global(task.global_index);
        const std::uint32_t client_id = rows_.clients.front().client_id;
        correction_->set(region, states_.clients() > 0 ? states_.of(client_id) : aggregation::ConstParamSpan());
    }
    step.expect(rows_.faults, rows_.row_of(first_wanted(task)), [&](std::size_t row) { blame(cell, rows_.places[row]); });
    enqueue_clients(step, training, task.objective, task.round, rows_.clients, start, rows_.results);
}

/// Enqueues all rows as one launch. Injected faults fire after it: a worker dies while it
/// runs, a NaN appears among its results.
void TaskRunner::train_whole(const Task& task, WholeClients& whole, const LocalTraining& training,
                             aggregation::ConstParamSpan start) {
    supervision_.beat();
    supervision_.throw_if_stopping();
    whole.train(training, task.objective, task.round, rows_.clients, start, rows_.results);
}

/// Writes a client's update: applies the upload chain, then writes to the slot or adds to the
/// slot's sum. No other function does this.
void TaskRunner::leave(const Task& task, std::uint64_t place, aggregation::ParamSpan local, const LocalTraining& training,
                       aggregation::ConstParamSpan start) {
    const std::uint64_t member = task.first + place;
    const std::uint32_t client_id = block_.members()[member].client_id;
    const aggregation::ParamSpan slot = model_of(arena_.slot(task.slot));
    if (!local_part_.empty()) keep_local_part(task, member, local, start);
    upload_.apply(local, start, training.seed, task.round, client_id, task.num_together, residual_of(task, client_id));
    if (!upload_.empty()) local_part_.hide(local, start);  // noise lies on every value
    if (task.count > 1)
        slot_sum_.add_update(local, start, block_.members()[member].weight, figures_[place].update);
    else
        aggregation::write_update(slot, local, start, figures_[place].update);
    if (task.payload == Payload::Model) aggregation::copy(slot, local);
    if (correction_ != nullptr) write_control_change(task, training, client_id, rows_.results.front().steps);
}

/// Stores the local part in the slot's kept region and removes it from the update. The slot holds this one client.
void TaskRunner::keep_local_part(const Task& task, std::uint64_t member, aggregation::ParamSpan local,
                                 aggregation::ConstParamSpan start) {
    const aggregation::ParamSpan kept = plan_.channels.of(arena_.kept(task.slot), aggregation::kLocal);
    local_part_.take(kept, local);
    if (!aggregation::all_finite(kept)) throw not_finite("the part that stays on the client", member);
    local_part_.hide(local, start);
}

/// The client's residual, if the upload chain keeps one; the slot then holds this one client.
Residual TaskRunner::residual_of(const Task& task, std::uint32_t client_id) const {
    if (plan_.channels.find(aggregation::kResidual) == nullptr) return {};
    return {states_.of(client_id), plan_.channels.of(arena_.kept(task.slot), aggregation::kResidual)};
}

/// Writes c_k^+ - c_k after the update in the slot, or to the slot's kept region if the channel does not travel.
void TaskRunner::write_control_change(const Task& task, const LocalTraining& training, std::uint32_t client_id,
                                      std::uint64_t steps) {
    const aggregation::ConstParamSpan region = arena_.global(task.global_index);
    const aggregation::ConstParamSpan control = plan_.channels.come_down(region, aggregation::kControl);
    const bool travels = plan_.channels.find(aggregation::kControl)->travels();
    const aggregation::ParamSpan change =
        plan_.channels.of(travels ? arena_.slot(task.slot) : arena_.kept(task.slot), aggregation::kControl);
    const aggregation::ControlChange& by = plan_.control_change;
    if (!by.by_gradient) {
        const aggregation::ConstParamSpan update = model_of(arena_.slot(task.slot)).first(change.size);
        return aggregation::write_control_change(change, by, update, control, steps, by.by_steps ? client_rate(task) : 0.0F);
    }
    // The step's gradients are corrected, so that their mean is g + c - c_k; minus c gives g - c_k, the change to c_k^+ = g.
    mean_gradient(step_, training, task.objective, task.round, client_id, dataset_.shard(client_id), model_of(region), change);
    if (control.size > 0) aggregation::add_scaled(change, control, -1.0);
}

/// The client's rate. Only for plain SGD: other optimisers' steps do not determine the gradients.
float TaskRunner::client_rate(const Task& task) const {
    return std::get<aggregation::SgdOptions>(plan_.optimizer).lr * task.objective.lr_factor;
}

void TaskRunner::accept_rows(TaskCell& cell, double update_s) {
    deal_out_time(rows_.results, update_s);
    for (std::size_t row = 0; row < rows_.places.size(); ++row) finish(rows_.results[row], figures_[rows_.places[row]]);
    // In the members' order: the first with a non-finite update gets the blame.
    const auto [first, last] = std::minmax_element(rows_.places.begin(), rows_.places.end());
    for (std::uint64_t place = *first; place <= *last; ++place) {
        if (block_.members()[cell.task.first + place].left_out != 0) continue;
        blame(cell, place);
        accept(cell.task.first + place, rows_.results[rows_.row_of(place)]);
    }
}

/// Accepts all members after the task's only wait for the device, when their figures are complete. Only the task's total time
/// is known; each member gets the share of its local steps.
void TaskRunner::accept_all(TaskCell& cell) {
    const Task task = cell.task;
    cell.started_ns.store(now_ns(), std::memory_order_relaxed);
    aggregation::synchronize(arena_.space());
    std::vector<std::uint64_t> places;
    std::vector<ClientResult> results;
    for (std::uint64_t place = 0; place < task.count; ++place) {
        if (block_.members()[task.first + place].left_out != 0) continue;
        places.push_back(place);
        results.push_back(block_.results()[task.first + place]);
    }
    if (!results.empty()) deal_out_time(results);
    for (std::size_t i = 0; i < places.size(); ++i) {
        blame(cell, places[i]);
        finish(results[i], figures_[places[i]]);
        accept(task.first + places[i], results[i]);
    }
    blame(cell, task.count);
}

SupervisedStep& TaskRunner::step_at_once() {
    if (!step_at_once_) {
        local_step_at_once_.emplace(trainer_.step_at_once(), plan_.clip_norm);
        step_at_once_.emplace(*local_step_at_once_, self_, stopping_, own_process_);
    }
    return *step_at_once_;
}

}  // namespace fedhive::clients
