// CSV files for the virtual clock: clients' speeds and availability. Strict: exact header, plain numbers without quotes or
// spaces; but a byte order mark, CRLF, and a last line without an end are accepted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace fedhive::sim {

struct DeviceSpeed {
    double seconds_per_example = 0.0;
    double upload = 0.0;    // bytes per second
    double download = 0.0;  // bytes per second
};

/// A client is available in [start_s, end_s), in simulated time.
struct Interval {
    double start_s = 0.0;
    double end_s = 0.0;
};

/// Header `client,seconds_per_example,upload,download`, then one row for each client from 0 to num_clients - 1, in any order.
///
/// Throws   ConfigError  "FILE:LINE: column: problem; allowed: …": no file, an unknown, repeated or missing client, a number
///          out of range.
std::vector<DeviceSpeed> read_device_trace(const std::filesystem::path& file, std::uint64_t num_clients);

/// Header `client,start_s,end_s`, then at least one row for each client. A client's rows are in order of time; they may touch but not overlap.
///
/// Throws   ConfigError  as read_device_trace.
std::vector<std::vector<Interval>> read_availability_trace(const std::filesystem::path& file, std::uint64_t num_clients);

}  // namespace fedhive::sim
