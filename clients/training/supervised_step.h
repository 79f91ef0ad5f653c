// A training step under supervision: a heartbeat in every local step, an end in mid-training when the worker is to stop, and the
// failures that a config asks for (`faults:`). It wraps any step; the client's screen does not know of it.
#pragma once

#include "clients/training/supervision.h"
#include "clients/training/training_step.h"

#include <functional>

namespace fedhive::clients {

class SupervisedStep final : public TrainingStep {
public:
    /// `stopping` is asked once in every local step, as soon as the gradient is there: in some modes the step ends elsewhere. It and
    /// `own_process` are Supervision's. All references must outlive the step.
    SupervisedStep(TrainingStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process);

    /// What is to go wrong with the next client.
    void expect(const InjectedFault& fault);

    /// To be called when the client's update is written. Throws TaskFailed for the faults that come then.
    void update_written();

    aggregation::ParamSpan parameters() override { return step_.parameters(); }
    aggregation::ParamSpan gradient() override { return step_.gradient(); }
    aggregation::ParamSpan velocity() override { return step_.velocity(); }
    void begin(const ClientStart& start) override;
    void begin_epoch(std::span<const std::uint32_t> order) override { step_.begin_epoch(order); }
    void compute_gradient(std::span<const std::uint32_t> batch) override;
    void apply_gradient() override { step_.apply_gradient(); }
    void step(std::span<const std::uint32_t> batch) override;
    double loss_sum() override { return step_.loss_sum(); }
    void loss_sum_into(double& to) override { step_.loss_sum_into(to); }
    double gather_s() const override { return step_.gather_s(); }

private:
    void fire();

    TrainingStep& step_;
    Supervision supervision_;
    InjectedFault fault_;
};

}  // namespace fedhive::clients
