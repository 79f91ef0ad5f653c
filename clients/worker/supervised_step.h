// Wraps a training step and adds supervision (supervision.h): a heartbeat in every local step, an early end when the worker is to stop, and
// injected faults. Local training (local_training.h) is the same with and without it.
#pragma once

#include "clients/engine/wrapped_step.h"
#include "clients/worker/supervision.h"

namespace fedhive::clients {

class SupervisedStep final : public WrappedStep {
public:
    /// Checks once in every step whether to stop, after the gradients, since in some modes another process takes the step. Both references must
    /// outlive this object.
    SupervisedStep(TrainingStep& step, Supervision& supervision) : WrappedStep(step), supervision_(supervision) {}

    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void step_rows(std::span<const RowBatch> batches) override;

private:
    Supervision& supervision_;
};

}  // namespace fedhive::clients
