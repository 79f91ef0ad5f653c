// The trainer of a process: a model, a training step and an evaluation.
#pragma once

#include "aggregation/base/error.h"
#include "clients/engine/split_channel.h"
#include "clients/engine/training_step.h"
#include "clients/tasks/output_loss.h"
#include "clients/trainers/worker_plan.h"
#include "clients/visit/whole_clients.h"

#include <memory>

namespace fedhive::clients {

/// The layers below and above the cut of a model (mode split).
enum class Half { Lower, Upper };

struct Trainer {
    Trainer() = default;
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;
    virtual ~Trainer() = default;
    /// The step of one client at a time.
    virtual TrainingStep& step() = 0;

    /// The step of up to plan.clients_at_once clients at once.
    virtual TrainingStep& step_at_once() { throw Fault("this trainer trains one client at a time"); }

    virtual Evaluation& evaluation() = 0;

    /// The trainer of whole clients; null if clients are trained step by step.
    virtual WholeClients* whole_clients() { return nullptr; }

    /// The loss formula of strategy.file; null if there is none, or the method's keys reduce it to cross-entropy. begin_loss()
    /// (visit/loss_visit.h) sets a client's values before its first step.
    virtual OutputLoss* output_loss() { return nullptr; }

    /// The step of one half of the model, cut at plan.cut; the channel must outlive it.
    virtual std::unique_ptr<TrainingStep> half(Half, SplitChannel&) { throw Fault("this trainer has no model to cut"); }
};

/// The loss of the plan's method; null as Trainer::output_loss().
inline std::unique_ptr<OutputLoss> output_loss_of(const WorkerPlan& plan) {
    if (plan.method.empty()) return nullptr;
    return OutputLoss::of(aggregation::formulas::MethodFormulas::of(plan.method.get()),
                          static_cast<std::size_t>(plan.model.num_classes), plan.features);
}

/// Builds the trainer of a process; tests pass their own. `frozen`, the frozen parameters (Arena::frozen), must outlive the trainer.
using TrainerFactory = std::unique_ptr<Trainer> (*)(const WorkerPlan& plan, const SharedDataset& dataset,
                                                    aggregation::ConstParamSpan frozen);

}  // namespace fedhive::clients
