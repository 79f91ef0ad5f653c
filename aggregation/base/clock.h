// One clock for every process of a run: CLOCK_MONOTONIC, comparable between processes of one machine, stopped while the
// machine is suspended.
#pragma once

#include <chrono>
#include <cstdint>

namespace fedhive {

/// Nanoseconds of the machine's monotonic clock.
inline std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds from `start_ns` to `end_ns`.
inline double seconds_between(std::int64_t start_ns, std::int64_t end_ns) {
    return static_cast<double>(end_ns - start_ns) * 1e-9;
}

}  // namespace fedhive
