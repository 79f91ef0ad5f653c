// A worker's main task: trains the members (clients) of a slot, one at a time or many at once, and writes their updates to the slot.
#pragma once

#include "aggregation/math/mean.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/uploads/upload.h"
#include "clients/visit/formula_visit.h"
#include "clients/visit/measure_pass.h"
#include "clients/visit/step_clients.h"
#include "clients/visit/whole_clients.h"
#include "clients/worker/worker_context.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace fedhive::clients {

/// Members of a slot that are trained at once, one in each row.
struct RowMembers {
    std::vector<RowClient> clients;
    std::vector<std::uint64_t> places;  // index of each row's client among the task's members
    std::vector<InjectedFault> faults;
    std::vector<ClientResult> results;
    std::vector<ReportValues> measured;  // measures of the model that was sent

    void clear() {
        clients.clear();
        places.clear();
        faults.clear();
        results.clear();
        measured.clear();
    }
    void add(std::uint64_t place, const RowClient& client, const InjectedFault& fault) {
        clients.push_back(client);
        places.push_back(place);
        faults.push_back(fault);
        results.emplace_back();
        measured.emplace_back();
    }
    std::size_t row_of(std::uint64_t place) const {
        return static_cast<std::size_t>(std::find(places.begin(), places.end(), place) - places.begin());
    }
};

class TrainTask {
public:
    explicit TrainTask(WorkerContext& worker);
    void run(TaskCell& cell);

private:
    void train_at_once(TaskCell& cell, std::uint64_t first, std::uint64_t count);
    void prepare_rows(const Task& task, std::uint64_t first, std::uint64_t count);
    std::uint64_t first_wanted(const Task& task) const;
    void measure_rows(TaskCell& cell, aggregation::ConstParamSpan start);
    void train_rows(TaskCell& cell, const LocalTraining& training, aggregation::ConstParamSpan start);
    void measure_by_class(aggregation::ConstParamSpan trained);
    bool write_update(const Task& task, std::uint64_t place, aggregation::ParamSpan local, const LocalTraining& training,
                      aggregation::ConstParamSpan start);
    aggregation::VisitMemories memories_of(const Task& task, std::uint32_t client_id) const;
    void accept_rows(TaskCell& cell, std::int64_t trained_ns);
    void accept_all(TaskCell& cell);
    TrainingStep& many_rows();
    aggregation::ConstParamSpan begin_formulas(const Task& task, const LocalTraining& training,
                                               aggregation::ConstParamSpan sent);

    WorkerContext& worker_;
    UploadChain upload_;
    std::optional<std::size_t> within_clip_;              // index of that report, if the upload chain has it
    std::optional<FormulaVisit> formulas_;                // of strategy.file or a local rule
    std::optional<MeasurePass> measure_;                  // if the run has a report that needs one
    std::optional<LocalStep> many_rows_;                  // made on demand
    std::optional<SupervisedStep> supervised_many_rows_;  // around it
    StepClients by_steps_;
    std::unique_ptr<PythonClients> python_;  // of strategy.visit
    WholeClients& clients_;                  // python_, the trainer's own, or by_steps_
    RowMembers rows_;
    aggregation::SlotSum slot_sum_;
    aggregation::PinnedArray<ClientFigures> figures_;  // of the members of the slot
};

}  // namespace fedhive::clients
