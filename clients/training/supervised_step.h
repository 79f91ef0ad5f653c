// A training step under supervision: a heartbeat in every local step, an end in mid-training when the worker is to stop, and the
// failures that a config asks for (`faults:`). It wraps any step; the client's screen does not know of it.
#pragma once

#include "clients/training/supervision.h"
#include "clients/training/wrapped_step.h"

#include <functional>

namespace fedhive::clients {

class SupervisedStep final : public WrappedStep {
public:
    /// `stopping` is asked once in every local step, as soon as the gradient is there: in some modes the step ends elsewhere. It and
    /// `own_process` are Supervision's. All references must outlive the step.
    SupervisedStep(TrainingStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process);

    /// What is to go wrong with the next client.
    void expect(const InjectedFault& fault);

    /// To be called when the client's update is written. Throws TaskFailed for the faults that come then.
    void update_written();

    void begin(const ClientStart& start) override;
    void compute_gradient(std::span<const std::uint32_t> batch) override;
    void step(std::span<const std::uint32_t> batch) override;

private:
    void fire();

    Supervision supervision_;
    InjectedFault fault_;
};

}  // namespace fedhive::clients
