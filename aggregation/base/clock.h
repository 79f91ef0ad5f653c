// The clock that all processes of a run share: CLOCK_MONOTONIC. Values are comparable between processes of one machine; the
// clock stops while the machine is suspended.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace fedhive {

/// Nanoseconds of the machine's monotonic clock.
inline std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// now_ns() as of the kernel's last tick, at most some milliseconds ago; takes an eighth of its time.
inline std::int64_t recent_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// Seconds from `start_ns` to `end_ns`.
inline double seconds_between(std::int64_t start_ns, std::int64_t end_ns) {
    return static_cast<double>(end_ns - start_ns) * 1e-9;
}

/// Sums the time that time() spends in its work. Cost: two clock reads for each call.
class Stopwatch {
public:
    template <typename Work>
    void time(Work work) {
        const std::int64_t start_ns = now_ns();
        work();
        total_ns_ += now_ns() - start_ns;
    }
    double seconds() const { return seconds_between(0, total_ns_); }

private:
    std::int64_t total_ns_ = 0;
};

}  // namespace fedhive
