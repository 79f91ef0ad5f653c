// A step of many clients at once under supervision (supervised_step.h, with rows): what goes wrong on purpose goes wrong for one of them.
#pragma once

#include "clients/training/batched_step.h"
#include "clients/training/supervision.h"

#include <functional>
#include <vector>

namespace fedhive::clients {

/// Told whose row the worker is at, by number, for who looks for somebody to blame meanwhile.
using RowListener = std::function<void(std::size_t row)>;

class SupervisedBatchedStep final : public BatchedStep {
public:
    /// `stopping` is asked once in every step; it and `own_process` are Supervision's. All references must outlive the step.
    SupervisedBatchedStep(BatchedStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process)
        : step_(step), supervision_(self, std::move(stopping), own_process) {}

    /// What is to go wrong with the next clients, by row. `at_row` is called before a fault with its row, and after it with `blamed_row`, whom
    /// everything else is blamed on; it must live as long as they train.
    void expect(std::vector<InjectedFault> faults, std::size_t blamed_row, RowListener at_row);

    /// To be called when a row's update has been accepted and summed. Throws TaskFailed for the faults that come then.
    void update_written(std::size_t row);

    std::size_t num_rows() const override { return step_.num_rows(); }
    aggregation::ParamSpan parameters(std::size_t row) override { return step_.parameters(row); }
    void begin(const BatchedStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override { step_.apply_gradients(); }
    void loss_sums(std::span<double> sums) override { step_.loss_sums(sums); }
    double gather_s() const override { return step_.gather_s(); }

private:
    void fire(std::size_t row);

    BatchedStep& step_;
    Supervision supervision_;
    std::vector<InjectedFault> faults_;
    std::size_t blamed_row_ = 0;
    RowListener at_row_;
};

}  // namespace fedhive::clients
