// Waiting in tests, with a time limit.
#pragma once

#include "aggregation/base/clock.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace fedhive::testing {

/// Polls until `condition` holds; false after `seconds`.
inline bool eventually(double seconds, const std::function<bool()>& condition) {
    const std::int64_t start = now_ns();
    while (!condition()) {
        if (seconds_between(start, now_ns()) > seconds) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

}  // namespace fedhive::testing
