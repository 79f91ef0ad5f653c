// What a process trains with: a model, a step over it, an evaluation.
#pragma once

#include "aggregation/base/error.h"
#include "clients/training/split_channel.h"
#include "clients/training/training_step.h"
#include "clients/training/whole_clients.h"
#include "clients/training/worker_plan.h"

#include <memory>

namespace fedhive::clients {

/// Below and above the cut of a model (mode split).
enum class Half { Lower, Upper };

struct Trainer {
    Trainer() = default;
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;
    virtual ~Trainer() = default;
    /// Of one client at a time.
    virtual TrainingStep& step() = 0;

    /// Of as many clients at once as the plan says.
    virtual TrainingStep& step_at_once() { throw Fault("this trainer trains one client at a time"); }

    virtual Evaluation& evaluation() = 0;

    /// For whole clients at once; null where they are trained step by step.
    virtual WholeClients* whole_clients() { return nullptr; }

    /// One half of the model, cut where the plan says; the channel must outlive it.
    virtual std::unique_ptr<TrainingStep> half(Half, SplitChannel&) { throw Fault("this trainer has no model to cut"); }
};

/// Builds the trainer of a process; tests give their own. `frozen`, [F] (Arena::frozen), must outlive it.
using TrainerFactory = std::unique_ptr<Trainer> (*)(const WorkerPlan& plan, const SharedDataset& dataset,
                                                    aggregation::ConstParamSpan frozen);

}  // namespace fedhive::clients
