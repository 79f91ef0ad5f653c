// A training step under supervision: a heartbeat in every local step, an end in mid-training when the worker is to stop, and the failures that a
// config asks for (`faults:`), each in its row. It wraps any step; the client's screen does not know of it.
#pragma once

#include "clients/training/supervision.h"
#include "clients/training/wrapped_step.h"

#include <functional>
#include <vector>

namespace fedhive::clients {

/// Told whose row the worker is at, by number, for who looks for somebody to blame meanwhile.
using RowListener = std::function<void(std::size_t row)>;

class SupervisedStep final : public WrappedStep {
public:
    /// `stopping` is asked once in every step, as soon as the gradients are there: in some modes the step ends elsewhere. It and `own_process` are
    /// Supervision's. All references must outlive the step.
    SupervisedStep(TrainingStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process);

    /// What is to go wrong with the next client.
    void expect(const InjectedFault& fault);

    /// What is to go wrong with the next clients, by row. `at_row` is called before a fault with its row, and after it with `blamed_row`, whom
    /// everything else is blamed on; it must live as long as they train.
    void expect(std::span<const InjectedFault> faults, std::size_t blamed_row, RowListener at_row);

    /// To be called when a row's update is written. Throws TaskFailed for the faults that come then.
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
