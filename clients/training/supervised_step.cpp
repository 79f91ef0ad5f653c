#include "clients/training/supervised_step.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>
#include <utility>

namespace fedhive::clients {

SupervisedStep::SupervisedStep(TrainingStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process)
    : step_(step), self_(self), stopping_(std::move(stopping)), own_process_(own_process) {}

void SupervisedStep::expect(const InjectedFault& fault) { fault_ = fault; }

void SupervisedStep::begin(const ClientStart& start) {
    beat();
    step_.begin(start);
}

void SupervisedStep::compute_gradient(std::span<const std::uint32_t> batch) {
    step_.compute_gradient(batch);
    beat();
    if (fault_.at_update == 0) fire();
    if (stopping_()) throw TaskFailed(FailureKind::Exception, "stopped");
}

void SupervisedStep::update_written() {
    beat();
    if (fault_.at_update != 0) fire();
}

void SupervisedStep::beat() const { self_.heartbeat_ns.store(now_ns(), std::memory_order_relaxed); }

void SupervisedStep::fire() {
    const InjectedFault fault = std::exchange(fault_, {});
    switch (fault.kind) {
        case FaultKind::None:
            return;
        case FaultKind::Kill:
            return die(FailureKind::Signalled, "killed");
        case FaultKind::Hang:
            return die(FailureKind::Hung, "hanging");
        case FaultKind::Throw:
            throw TaskFailed(FailureKind::Exception, "injected: an exception");
        case FaultKind::OutOfMemory:
            throw OutOfMemory("injected: out of memory");
        case FaultKind::Slow:
            return pause(fault.seconds);
        case FaultKind::Nan: {
            float nan = std::numeric_limits<float>::quiet_NaN();
            aggregation::copy(step_.gradient().first(1), {&nan, 1, aggregation::MemorySpace::Host});
            return;
        }
    }
}

void SupervisedStep::die(FailureKind kind, const char* what) const {
    if (!own_process_) throw TaskFailed(kind, fmt::format("injected: {}; there is no worker process here", what));
    if (kind == FailureKind::Signalled) ::kill(getpid(), SIGKILL);
    for (;;) ::pause();
}

/// Slow, not hung: it goes on giving signs of life.
void SupervisedStep::pause(double seconds) const {
    const std::int64_t start_ns = now_ns();
    for (double left = seconds; left > 0.0 && !stopping_(); left = seconds - seconds_between(start_ns, now_ns())) {
        beat();
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.05)));
    }
}

}  // namespace fedhive::clients
