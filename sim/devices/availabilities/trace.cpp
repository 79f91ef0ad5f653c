#include "sim/devices/availability.h"
#include "sim/devices/device_trace.h"

#include <algorithm>
#include <limits>

namespace fedhive::sim {

namespace {

/// Memory: 16 bytes a row of the trace.
class AsTraced final : public Availability {
public:
    explicit AsTraced(std::vector<std::vector<Interval>> intervals) : intervals_(std::move(intervals)) {}

    double next_s(std::uint32_t client, double at_s) const override {
        const std::vector<Interval>& own = intervals_.at(client);
        const auto next = std::partition_point(own.begin(), own.end(), [&](const Interval& one) { return one.end_s <= at_s; });
        return next == own.end() ? std::numeric_limits<double>::infinity() : std::max(at_s, next->start_s);
    }

private:
    std::vector<std::vector<Interval>> intervals_;  // by client
};

}  // namespace

AvailabilityScheme trace() {
    return {
        .name = "trace",
        .summary = "as given in a file",
        .keys = {{.name = "trace",
                  .default_value = std::filesystem::path(),
                  .required = true,
                  .doc = "A CSV file: the header `client,start_s,end_s`, then one row for each interval of simulated time in "
                         "which a client is available, end excluded. Each client has one or more rows, in order. The trace "
                         "does not repeat: after its last interval a client is unavailable. Relative to the config file."}},
        .build = [](const Values& values, std::uint64_t num_clients, std::uint64_t) -> std::unique_ptr<Availability> {
            return std::make_unique<AsTraced>(read_availability_trace(values.path("trace"), num_clients));
        }};
}

}  // namespace fedhive::sim
