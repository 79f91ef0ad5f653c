// Failures of a client's training. A failure is data: a worker reports it or the coordinator detects it; it never crosses
// processes as an exception. The `failures:` section of the config decides how it is handled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace fedhive::clients {

enum class FailureKind : std::uint32_t {
    Exited,       // the worker process ended by itself
    Signalled,    // the worker process was killed by a signal
    Hung,         // past its deadline, without a sign of life
    Exception,    // the training code threw
    NonFinite,    // the update or a report holds a NaN or an infinity, or the update is larger than failures.max_update_norm
    OutOfMemory,  // an allocation failed, on the host or on the device
    DeviceError,  // CUDA reported an error; the process cannot use the device any more
    Late,         // past its deadline, though still making steps
    Dropped,      // did not take part (faults: drop)
    LeftBehind,   // came after the quorum (mode.quorum); nothing went wrong
};
inline constexpr std::size_t kNumFailureKinds = 10;

/// Thrown inside a task by code that knows the kind; the task's cell reports it to the coordinator.
struct TaskFailed : std::runtime_error {
    TaskFailed(FailureKind failure_kind, const std::string& message) : std::runtime_error(message), kind(failure_kind) {}
    FailureKind kind;
};

/// "exited", "signalled", … as in clients.csv and events.jsonl.
const char* to_string(FailureKind kind);

struct ClientFailure {
    FailureKind kind = FailureKind::Exited;
    std::int64_t worker = -1;     // index of the worker process
    std::int64_t round = -1;      // as in rounds.csv, from 1; -1 before the first
    std::int64_t client_id = -1;  // -1: the worker was not training a client (starting, waiting, evaluating)
    std::int64_t attempt = 1;     // of this client in this round, from 1
    std::string message;          // signal name, exit status or exception text

    /// "worker 2 (client 17, round 3) signalled: Killed"
    std::string describe() const;
};

}  // namespace fedhive::clients
