#include "clients/protocol/failure.h"

#include <fmt/format.h>

namespace fedhive::clients {

const char* to_string(FailureKind kind) {
    switch (kind) {
        case FailureKind::Exited:
            return "exited";
        case FailureKind::Signalled:
            return "signalled";
        case FailureKind::Hung:
            return "hung";
        case FailureKind::Exception:
            return "exception";
        case FailureKind::NonFinite:
            return "non_finite";
        case FailureKind::OutOfMemory:
            return "out_of_memory";
        case FailureKind::DeviceError:
            return "device_error";
        case FailureKind::Late:
            return "late";
        case FailureKind::Dropped:
            return "dropped";
        case FailureKind::LeftBehind:
            return "left_behind";
    }
    return "unknown";
}

std::string ClientFailure::describe() const {
    std::string where = worker < 0 ? "coordinator" : fmt::format("worker {}", worker);
    if (client_id >= 0 && round >= 0)
        where += fmt::format(" (client {}, round {})", client_id, round);
    else if (round >= 0)
        where += fmt::format(" (round {})", round);
    return fmt::format("{} {}: {}", where, to_string(kind), message);
}

}  // namespace fedhive::clients
