#include "clients/worker/worker_context.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

void require(bool holds, const char* what) {
    if (!holds) throw Fault(fmt::format("the task's {} is beyond what there is", what));
}

WorkerContext::WorkerContext(const ControlBlock& control, std::uint32_t worker, const aggregation::Arena& memory,
                             const SharedDataset& data, const WorkerPlan& its_plan, Trainer& its_trainer,
                             const std::function<bool()>& asked, bool is_worker)
    : block(control),
      arena(memory),
      dataset(data),
      plan(its_plan),
      trainer(its_trainer),
      training(its_plan.training),
      stopping(asked),
      own_process(is_worker),
      supervision(control.worker(worker), asked, is_worker),
      states(its_plan.states_descriptor >= 0
                 ? aggregation::ClientStates::open(its_plan.states_descriptor, data.map().num_clients,
                                                   its_plan.memories.record_floats())
                 : aggregation::ClientStates()),
      local_part(its_plan.model),
      local_step(its_trainer.step(), its_plan.clip_norm),
      step(local_step, supervision),
      bare_step(its_trainer.step(), supervision) {
    training.counted = CountedTargets::of(data.train());
}

MeasureOptions WorkerContext::measure_options() const {
    return {.train = dataset.train(arena.space()),
            .sums = plan.sums.of_client(),
            .chunk = plan.evaluation_chunk,
            .training = training};
}

aggregation::ConstParamSpan WorkerContext::global_model(const Task& task) const {
    return plan.memories.of(aggregation::ConstParamSpan(arena.global(task.global_index)), aggregation::kModel);
}

aggregation::ParamSpan WorkerContext::update_of(const Task& task) const {
    return plan.memories.of(arena.slot(task.slot), aggregation::kModel);
}

aggregation::VisitMemories WorkerContext::memories_of(const Task& task, std::uint32_t client_id) const {
    return {.all = &plan.memories,
            .region = arena.global(task.global_index),
            .record = states.clients() > 0 ? states.of(client_id) : aggregation::ConstParamSpan(),
            .slot = {},
            .beside = {}};
}

aggregation::ConstParamSpan WorkerContext::start_of(const Task& task, std::uint32_t client_id) {
    return local_part.start(global_model(task), memories_of(task, client_id), start_);
}

std::uint32_t WorkerContext::client_of(std::uint64_t member) const {
    require(member < block.members().size(), "member");
    const std::uint32_t client_id = block.members()[member].client_id;
    require(client_id < dataset.map().num_shards(), "client");
    return client_id;
}

void WorkerContext::accept(std::uint64_t member, const ClientResult& result) const {
    block.results()[member] = result;
    if (result.finite == 0) throw not_finite("the update", member);
    if (const std::string_view report = plan.reports.not_finite(result); !report.empty())
        throw TaskFailed(FailureKind::NonFinite, fmt::format("the report {} is {}, though the update is finite; {}", report,
                                                             plan.reports.of(result, report), plan.help_for_updates.get()));
    const double most = training.max_update_norm;
    if (most > 0.0 && result.update_norm > most && !dataset.map().is_root(block.members()[member].client_id))
        throw TaskFailed(
            FailureKind::NonFinite,
            fmt::format("the update's norm is {:.6g}, above failures.max_update_norm {:.6g}", result.update_norm, most));
}

TaskFailed WorkerContext::not_finite(const char* what, std::uint64_t member) const {
    const bool injected = block.members()[member].fault.kind == FaultKind::Nan;
    return {FailureKind::NonFinite, fmt::format("{}{} holds a NaN or an infinity{}{}", injected ? "injected: " : "", what,
                                                injected ? "" : "; ", injected ? "" : plan.help_for_updates.get())};
}

aggregation::UpdateSummary WorkerContext::summary_of(aggregation::ParamSpan slot) {
    if (zeros_.span().size < slot.size) zeros_ = aggregation::ParamBuffer(slot.size, slot.space);
    return aggregation::write_update(slot, slot, zeros_.span().first(slot.size));
}

}  // namespace fedhive::clients
