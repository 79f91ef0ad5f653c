// What supervises a worker's training, one client at a time or many at once (supervised_step.h, supervised_batched_step.h): signs of life,
// an end in mid-training, and failures on purpose.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/protocol/control_block.h"

#include <functional>

namespace fedhive::clients {

class Supervision {
public:
    /// In a process of its own, kill and hang are real; in the coordinator (`workers: 0`) they are reported as if they had happened. `self`
    /// must outlive it.
    Supervision(WorkerCell& self, std::function<bool()> stopping, bool own_process)
        : self_(self), stopping_(std::move(stopping)), own_process_(own_process) {}

    void beat() const;

    /// Throws TaskFailed when the worker is to stop.
    void throw_if_stopping() const;

    /// Lets the fault happen: throws, ends the process, takes its time, or puts a NaN in front of `numbers`.
    void fire(const InjectedFault& fault, aggregation::ParamSpan numbers) const;

private:
    void pause(double seconds) const;
    void die(FailureKind kind, const char* what) const;

    WorkerCell& self_;
    std::function<bool()> stopping_;
    bool own_process_;
};

}  // namespace fedhive::clients
