// A training step under supervision: a heartbeat in every local step, an early end when the worker is to stop, and injected faults
// (supervision.h). It wraps any step; the client's screen does not know of it.
#pragma once

#include "clients/engine/wrapped_step.h"
#include "clients/worker/supervision.h"

namespace fedhive::clients {

class SupervisedStep final : public WrappedStep {
public:
    /// Asks once in every step whether to stop, after the gradients: in some modes the step ends elsewhere. Both references must
    /// outlive the step.
    SupervisedStep(TrainingStep& step, Supervision& supervision) : WrappedStep(step), supervision_(supervision) {}

    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void step_rows(std::span<const RowBatch> batches) override;

private:
    Supervision& supervision_;
};

}  // namespace fedhive::clients
