// Configuration of the simulated devices, as plain structs.
#pragma once

#include "aggregation/base/keys.h"

#include <filesystem>
#include <string>

namespace fedhive::sim {

/// The spread of a figure over clients: a factor per client, which multiplies times and divides rates.
struct SpreadConfig {
    std::string distribution = "constant";  // of sim/devices/spread.h
    Values values{};                        // of the distribution's keys
};

struct ComputeConfig {
    SpreadConfig spread;
    double seconds_per_example = 0.001;
};

struct LinkConfig {
    SpreadConfig spread;
    double upload = 1e6;    // bytes per second
    double download = 4e6;  // bytes per second
};

struct AvailabilityConfig {
    std::string scheme = "always";  // of sim/devices/availability.h
    Values values{};                // of the scheme's keys; paths absolute once loaded
};

struct DevicesConfig {
    std::filesystem::path trace;  // CSV, in place of compute and link; absolute once loaded
    ComputeConfig compute;
    LinkConfig link;
    AvailabilityConfig availability;
};

/// Limits of a device's figures, in the config and in traces.
inline constexpr double kMostSecondsPerExample = 1e6;
inline constexpr double kLeastBytesPerSecond = 1.0;
inline constexpr double kMostBytesPerSecond = 1e12;

}  // namespace fedhive::sim
