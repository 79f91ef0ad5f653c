// A training step under supervision: a heartbeat in every local step, an early end when the worker is to stop, and the injected
// faults of a config (`faults:`), each in its row. It wraps any step; the client's screen does not know of it.
#pragma once

#include "clients/engine/wrapped_step.h"
#include "clients/worker/supervision.h"

#include <functional>
#include <vector>

namespace fedhive::clients {

/// Called with the row that the worker is at, so that a failure can be attributed to its client.
using RowListener = std::function<void(std::size_t row)>;

class SupervisedStep final : public WrappedStep {
public:
    /// `stopping` is polled once in every step, after the gradients: in some modes the step ends elsewhere. It and
    /// `own_process` are Supervision's. All references must outlive the step.
    SupervisedStep(TrainingStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process);

    /// Sets the fault of the next client.
    void expect(const InjectedFault& fault);

    /// Sets the faults of the next clients, by row. `at_row` is called with a fault's row before it, and with `blamed_row`, to
    /// which all other failures are attributed, after it. It must be valid as long as the clients train.
    void expect(std::span<const InjectedFault> faults, std::size_t blamed_row, RowListener at_row);

    /// Call it when a row's update is written: fires the row's fault if it is set for that point. Throws TaskFailed.
    void update_written(std::size_t row = 0);

    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void step_rows(std::span<const RowBatch> batches) override;

private:
    void fire(std::size_t row);

    Supervision supervision_;
    std::vector<InjectedFault> faults_;
    std::size_t blamed_row_ = 0;
    RowListener at_row_;
};

}  // namespace fedhive::clients
