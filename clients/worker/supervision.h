// Supervision of a worker's training, in each step (supervised_step.h) or for whole clients: heartbeats, an early end, and the injected faults of
// a config (`faults:`). A row is one of the clients trained at once.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/protocol/control_block.h"

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace fedhive::clients {

/// Called with the row of the client that a failure from now on belongs to.
using RowListener = std::function<void(std::size_t row)>;

class Supervision {
public:
    /// own_process: kill and hang are real; otherwise, in the coordinator (`workers: 0`), they are only reported as if they had
    /// happened. `self` must outlive this object.
    Supervision(WorkerCell& self, std::function<bool()> stopping, bool own_process)
        : self_(self), stopping_(std::move(stopping)), own_process_(own_process) {}

    void beat() const;

    /// Throws TaskFailed when the worker is to stop.
    void throw_if_stopping() const;

    /// Sets the fault of the next client.
    void expect(const InjectedFault& fault) { expect({&fault, 1}, 0, {}); }

    /// Sets the faults of the next clients, by row. `at_row` is called with a fault's row before the fault, and after it with `blamed_row`, to
    /// which all other failures belong. It must be valid as long as the clients train.
    void expect(std::span<const InjectedFault> faults, std::size_t blamed_row, RowListener at_row);

    /// For work that has no faults: removes the faults of an earlier task that have not fired.
    void expect_nothing() { faults_.clear(); }
    bool expects_any() const;

    /// Fires the faults that are due in training, each once. Fault `nan` writes a NaN to the first number of numbers_of(row).
    template <typename NumbersOf>
    void fire_in_training(const NumbersOf& numbers_of) {
        for (std::size_t row = 0; row < faults_.size(); ++row) {
            if (faults_[row].kind == FaultKind::None || faults_[row].at_update != 0) continue;
            if (at_row_) at_row_(row);
            fire(std::exchange(faults_[row], {}), numbers_of(row));
            if (at_row_) at_row_(blamed_row_);
        }
    }

    /// To be called when a row's update is written: fires the row's fault if it is due then.
    void update_written(std::size_t row, aggregation::ParamSpan numbers);

private:
    /// Executes the fault: throws, ends or hangs the process, delays it, or sets numbers[0] to NaN.
    void fire(const InjectedFault& fault, aggregation::ParamSpan numbers) const;
    void pause(double seconds) const;
    void die(FailureKind kind, const char* what) const;

    WorkerCell& self_;
    std::function<bool()> stopping_;
    bool own_process_;
    std::vector<InjectedFault> faults_;
    std::size_t blamed_row_ = 0;
    RowListener at_row_;
};

}  // namespace fedhive::clients
