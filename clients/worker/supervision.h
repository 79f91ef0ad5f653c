// Supervision of a worker's training, one client at a time or many at once (supervised_step.h):
// heartbeats, an early end, and injected faults.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/protocol/control_block.h"

#include <functional>

namespace fedhive::clients {

class Supervision {
public:
    /// own_process: kill and hang are real; otherwise, in the coordinator (`workers: 0`), they are only reported as if they had
    /// happened. `self` must outlive this object.
    Supervision(WorkerCell& self, std::function<bool()> stopping, bool own_process)
        : self_(self), stopping_(std::move(stopping)), own_process_(own_process) {}

    void beat() const;

    /// Throws TaskFailed when the worker is to stop.
    void throw_if_stopping() const;

    /// Executes the fault: throws, ends or hangs the process, delays it, or sets numbers[0] to NaN.
    void fire(const InjectedFault& fault, aggregation::ParamSpan numbers) const;

private:
    void pause(double seconds) const;
    void die(FailureKind kind, const char* what) const;

    WorkerCell& self_;
    std::function<bool()> stopping_;
    bool own_process_;
};

}  // namespace fedhive::clients
