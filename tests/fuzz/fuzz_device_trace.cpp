// Readers of devices' CSV traces. Input: a byte for the reader and the number of clients, then the file.
#include "aggregation/base/error.h"
#include "sim/devices/device_trace.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

#include <cmath>

using namespace fedhive;

namespace {

void check_speeds(const std::filesystem::path& file, std::uint64_t num_clients) {
    const auto speeds = sim::read_device_trace(file, num_clients);
    fuzz::expect(speeds.size() == num_clients, "a row for each client");
    for (const sim::DeviceSpeed& speed : speeds)
        fuzz::expect(speed.seconds_per_example > 0.0 && std::isfinite(speed.seconds_per_example) && speed.upload >= 1.0 &&
                         std::isfinite(speed.upload) && speed.download >= 1.0 && std::isfinite(speed.download),
                     "finite speeds above zero");
}

void check_intervals(const std::filesystem::path& file, std::uint64_t num_clients) {
    const auto intervals = sim::read_availability_trace(file, num_clients);
    fuzz::expect(intervals.size() == num_clients, "intervals for each client");
    for (const auto& own : intervals) {
        fuzz::expect(!own.empty(), "an interval at least");
        double end_s = 0.0;
        for (const sim::Interval& one : own) {
            fuzz::expect(one.start_s >= end_s && one.end_s > one.start_s && std::isfinite(one.end_s), "intervals in order");
            end_s = one.end_s;
        }
    }
}

}  // namespace

FEDHIVE_FUZZ_TARGET(device_trace)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile file;
    if (size == 0) return 0;
    file.set({reinterpret_cast<const char*>(data) + 1, size - 1});
    const std::uint64_t num_clients = 1 + (data[0] >> 1U) % 8;
    try {
        if ((data[0] & 1U) == 0)
            check_speeds(file.path(), num_clients);
        else
            check_intervals(file.path(), num_clients);
    } catch (const ConfigError&) {
        return 0;
    }
    return 0;
}
