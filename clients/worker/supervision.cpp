#include "clients/worker/supervision.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>

namespace fedhive::clients {

void Supervision::beat() const { self_.heartbeat_ns.store(recent_ns(), std::memory_order_relaxed); }

void Supervision::throw_if_stopping() const {
    if (stopping_()) throw TaskFailed(FailureKind::Exception, "stopped");
}

void Supervision::expect(std::span<const InjectedFault> faults, std::size_t blamed_row, RowListener at_row) {
    faults_.assign(faults.begin(), faults.end());
    blamed_row_ = blamed_row;
    at_row_ = std::move(at_row);
}

bool Supervision::expects_any() const {
    return std::ranges::any_of(faults_, [](const InjectedFault& fault) { return fault.kind != FaultKind::None; });
}

void Supervision::update_written(std::size_t row, aggregation::ParamSpan numbers) {
    beat();
    if (row < faults_.size() && faults_[row].at_update != 0) fire(std::exchange(faults_[row], {}), numbers);
}

void Supervision::fire(const InjectedFault& fault, aggregation::ParamSpan numbers) const {
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
            aggregation::copy(numbers.first(1), {&nan, 1, aggregation::MemorySpace::Host});
            return;
        }
    }
}

void Supervision::die(FailureKind kind, const char* what) const {
    if (!own_process_) throw TaskFailed(kind, fmt::format("injected: {}; this run has no worker process", what));
    if (kind == FailureKind::Signalled) ::kill(getpid(), SIGKILL);
    for (;;) ::pause();
}

/// Slow, not hung: it goes on giving signs of life.
void Supervision::pause(double seconds) const {
    const std::int64_t start_ns = now_ns();
    for (double left = seconds; left > 0.0 && !stopping_(); left = seconds - seconds_between(start_ns, now_ns())) {
        beat();
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.05)));
    }
}

}  // namespace fedhive::clients
