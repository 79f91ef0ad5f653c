// The time of day in the format of results.
#pragma once

#include <array>
#include <ctime>
#include <string>

namespace fedhive::sim {

/// 2026-11-21T04:05:06Z
inline std::string utc_time() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace fedhive::sim
