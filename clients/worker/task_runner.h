// Runs claimed tasks: the part of a worker that is the same inside a worker process and inside the coordinator (`workers: 0`).
#pragma once

#include "aggregation/math/mean.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/data/shared_dataset.h"
#include "clients/models/local_part.h"
#include "clients/protocol/control_block.h"
#include "clients/protocol/round_barrier.h"
#include "clients/trainers/trainer.h"
#include "clients/trainers/worker_plan.h"
#include "clients/uploads/upload.h"
#include "clients/visit/local_batches.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "clients/worker/supervised_step.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace fedhive::clients {

/// Members of a slot that are trained at once, one in each row.
struct Rows {
    std::vector<RowClient> clients;
    std::vector<std::uint64_t> places;  // index of each row's client among the task's members
    std::vector<InjectedFault> faults;
    std::vector<ClientResult> results;

    void clear() {
        clients.clear();
        places.clear();
        faults.clear();
        results.clear();
    }
    void add(std::uint64_t place, const RowClient& client, const InjectedFault& fault) {
        clients.push_back(client);
        places.push_back(place);
        faults.push_back(fault);
        results.emplace_back();
    }
    std::size_t row_of(std::uint64_t place) const {
        return static_cast<std::size_t>(std::find(places.begin(), places.end(), place) - places.begin());
    }
};

/// The batches of a client whose steps are single tasks (TaskKind::Gradient).
struct RoundBatches {
    std::uint32_t round = 0;
    LocalBatches batches;
};

class TaskRunner {
public:
    /// All references must outlive the runner. `stopping` and `own_process` are SupervisedStep's; `wait_for_device` returns
    /// when all enqueued work is done, by default on the arena's device.
    TaskRunner(const ControlBlock& block, std::uint32_t worker, const aggregation::Arena& arena, const SharedDataset& dataset,
               const WorkerPlan& plan, Trainer& trainer, std::function<bool()> stopping, bool own_process,
               std::function<void()> wait_for_device = {});

    /// Claims and runs one task; false if there was none. An exception of the task is reported in its cell, never passed on.
    bool run_one();

private:
    /// Throws Fault unless `holds`. A task's numbers come from shared memory and are checked before use.
    static void require(bool holds, const char* what);
    TaskPhase unfinished(TaskCell& cell) const;
    bool withdrawn() const;
    void run(TaskCell& cell);
    void train(TaskCell& cell);
    std::uint64_t members_at_once() const;
    void train_at_once(TaskCell& cell, std::uint64_t first, std::uint64_t count);
    void prepare_rows(const Task& task, std::uint64_t first, std::uint64_t count);
    std::uint64_t first_wanted(const Task& task) const;
    void train_rows(TaskCell& cell, SupervisedStep& step, const LocalTraining& training, aggregation::ConstParamSpan start);
    void train_whole(const Task& task, WholeClients& whole, const LocalTraining& training, aggregation::ConstParamSpan start);
    void leave(const Task& task, std::uint64_t place, aggregation::ParamSpan local, const LocalTraining& training,
               aggregation::ConstParamSpan start);
    void accept_rows(TaskCell& cell, double update_s);
    void accept_all(TaskCell& cell);
    SupervisedStep& step_at_once();
    bool on_device() const { return arena_.space() == aggregation::MemorySpace::Cuda; }
    void compute_gradient(const Task& task);
    void train_in_place(const Task& task);
    std::function<bool()> stopping_or_gathering(TaskCell& cell, const bool& gathered) const;
    void train_replica(TaskCell& cell);
    void train_half(TaskCell& cell, Half half);
    void evaluate(TaskCell& cell);
    void evaluate_clients(const Task& task, bool personalized);
    EvaluationSums evaluate_held_out(Evaluation& evaluation, std::uint32_t client_id) const;
    void aggregate(const Task& task);

    /// The model's part of a region, without the channels after it.
    template <typename Span>
    Span model_of(Span region) const {
        return plan_.channels.of(region, aggregation::kModel);
    }
    aggregation::ConstParamSpan start_of(std::uint32_t client_id, aggregation::ConstParamSpan global);
    void keep_local_part(const Task& task, std::uint64_t member, aggregation::ParamSpan local,
                         aggregation::ConstParamSpan start);
    Residual residual_of(const Task& task, std::uint32_t client_id) const;
    void write_control_change(const Task& task, const LocalTraining& training, std::uint32_t client_id, std::uint64_t steps);
    float client_rate(const Task& task) const;
    std::uint32_t client_of(std::uint64_t member) const;
    RowBatch batch_of(const Task& task, std::uint32_t client_id);
    void accept(std::uint64_t member, const ClientResult& result);
    TaskFailed not_finite(const char* what, std::uint64_t member) const;
    aggregation::UpdateSummary summary_of(aggregation::ParamSpan slot);

    const ControlBlock& block_;
    TaskBoard board_;
    const aggregation::Arena& arena_;
    const SharedDataset& dataset_;
    const WorkerPlan& plan_;
    LocalTraining training_;  // the plan's, with what counts of this process's examples
    Trainer& trainer_;
    const TaskCell* at_work_ = nullptr;
    std::function<bool()> stopping_;
    bool own_process_;
    std::function<void()> wait_for_device_;
    WorkerCell& self_;
    Supervision supervision_;
    aggregation::ClientStates states_;
    LocalPart local_part_;
    aggregation::ParamBuffer start_;  // [P], initial model of a client with a local part; allocated on demand
    UploadChain upload_;
    LocalStep local_step_;
    GradientCorrection* correction_;  // null unless there is a channel `control`
    SupervisedStep step_;
    std::optional<LocalStep> local_step_at_once_;  // made on demand
    std::optional<SupervisedStep> step_at_once_;   // wraps local_step_at_once_
    Rows rows_;
    aggregation::SlotSum slot_sum_;
    aggregation::PinnedArray<ClientFigures> figures_;  // of the members of the slot
    aggregation::ParamBuffer zeros_;                   // subtrahend for the summary of a slot that holds a gradient
    aggregation::ParamBuffer velocity_;                // a replica's momentum until it is handed over
    std::unique_ptr<aggregation::Aggregator> rule_;    // of the last range
    std::map<std::uint32_t, RoundBatches> batches_;    // by client, for TaskKind::Gradient
};

}  // namespace fedhive::clients
