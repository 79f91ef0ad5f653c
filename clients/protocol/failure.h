// What can go wrong with a client's training. A failure is data: a worker reports it or the coordinator finds it; it never travels as an
// exception from process to process. The `failures:` section of the config says what becomes of it.
#pragma once

#include <cstdint>
#include <string>

namespace fedhive::clients {

enum class FailureKind : std::uint32_t {
    Exited,     // the worker process ended by itself
    Signalled,  // the worker process was killed by a signal
    Hung,       // a task was not finished within its deadline
    Exception,  // the training code threw
    NonFinite,  // the update holds a NaN or an infinity
};

/// "exited", "signalled", … as in clients.csv and events.jsonl.
const char* to_string(FailureKind kind);

struct ClientFailure {
    FailureKind kind = FailureKind::Exited;
    std::int64_t worker = -1;     // index of the worker process
    std::int64_t round = -1;      // as in rounds.csv, from 1; -1 before the first
    std::int64_t client_id = -1;  // -1: the worker was not training a client (starting, waiting, evaluating)
    std::string message;          // signal name, exit status or exception text

    /// "worker 2 (client 17, round 3) signalled: Killed"
    std::string describe() const;
};

}  // namespace fedhive::clients
