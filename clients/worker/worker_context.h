// The state that a worker's tasks share: memory, data, model, supervision; and the functions for members (clients of a task) of every kind of
// task.
#pragma once

#include "aggregation/memory/arena.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/data/shared_dataset.h"
#include "clients/models/local_part.h"
#include "clients/protocol/control_block.h"
#include "clients/protocol/failure.h"
#include "clients/trainers/trainer.h"
#include "clients/trainers/worker_plan.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "clients/visit/measure_pass.h"
#include "clients/worker/supervised_step.h"

#include <functional>

namespace fedhive::clients {

/// Throws Fault unless `holds`. A task's numbers come from shared memory and are checked before use.
void require(bool holds, const char* what);

class WorkerContext {
public:
    /// All references must outlive the context. `asked` and `is_worker` are `stopping` and `own_process` of Supervision.
    WorkerContext(const ControlBlock& control, std::uint32_t worker, const aggregation::Arena& memory,
                  const SharedDataset& data, const WorkerPlan& its_plan, Trainer& its_trainer,
                  const std::function<bool()>& asked, bool is_worker);

    const ControlBlock& block;
    const aggregation::Arena& arena;
    const SharedDataset& dataset;
    const WorkerPlan& plan;
    Trainer& trainer;
    LocalTraining training;  // the plan's, with the counted targets of this process's examples
    std::function<bool()> stopping;
    bool own_process;
    Supervision supervision;
    aggregation::ClientStates states;
    LocalPart local_part;
    LocalStep local_step;
    SupervisedStep step;       // of one client at a time
    SupervisedStep bare_step;  // the same without the algorithm's rules: gradients of the loss

    /// The options for a MeasurePass.
    MeasureOptions measure_options() const;

    bool on_device() const { return arena.space() == aggregation::MemorySpace::Cuda; }

    /// The model that the task starts from, and the model's part of a slot: regions without the memories after it.
    aggregation::ConstParamSpan global_model(const Task& task) const;
    aggregation::ParamSpan update_of(const Task& task) const;

    /// The client's memories for reading, without a slot to write to.
    aggregation::VisitMemories memories_of(const Task& task, std::uint32_t client_id) const;

    /// The global model with the client's own values in the local part. Clients with a local part train alone.
    aggregation::ConstParamSpan start_of(const Task& task, std::uint32_t client_id);

    std::uint32_t client_of(std::uint64_t member) const;

    /// Stores the member's result. Throws TaskFailed for an update that is not finite or longer than allowed, and for a report that is
    /// not finite.
    void accept(std::uint64_t member, const ClientResult& result) const;
    TaskFailed not_finite(const char* what, std::uint64_t member) const;

    /// Norm, hash and finiteness of a slot's contents.
    aggregation::UpdateSummary summary_of(aggregation::ParamSpan slot);

private:
    aggregation::ParamBuffer start_;  // initial model of a client with a local part; allocated on demand
    aggregation::ParamBuffer zeros_;  // subtrahend of summary_of()
};

}  // namespace fedhive::clients
