#include "sim/devices/devices.h"

#include "sim/devices/spread.h"

namespace fedhive::sim {

namespace {

/// Number of a client's draw: the round of its stream.
enum Draw : std::uint32_t { kCompute = 0, kLink = 1 };

std::vector<double> slowness(const SpreadConfig& config, std::uint64_t num_clients, std::uint64_t seed, Draw draw) {
    const Spread& spread = spread_of(config.distribution);
    return spread.factors(completed(config.values, spread.keys), num_clients, seed, draw);
}

std::vector<DeviceSpeed> drawn_speeds(const DevicesConfig& config, std::uint64_t num_clients, std::uint64_t seed) {
    const std::vector<double> compute = slowness(config.compute.spread, num_clients, seed, kCompute);
    const std::vector<double> link = slowness(config.link.spread, num_clients, seed, kLink);
    std::vector<DeviceSpeed> speeds(num_clients);
    for (std::size_t client = 0; client < num_clients; ++client)
        speeds[client] = {.seconds_per_example = config.compute.seconds_per_example * compute[client],
                          .upload = config.link.upload / link[client],
                          .download = config.link.download / link[client]};
    return speeds;
}

std::unique_ptr<Availability> availability_of(const AvailabilityConfig& config, std::uint64_t num_clients, std::uint64_t seed) {
    const AvailabilityScheme& scheme = availability_scheme(config.scheme);
    return scheme.build(completed(config.values, scheme.keys), num_clients, seed);
}

}  // namespace

Devices::Devices(const DevicesConfig& config, std::uint64_t num_clients, std::uint64_t seed)
    : speeds_(config.trace.empty() ? drawn_speeds(config, num_clients, seed) : read_device_trace(config.trace, num_clients)),
      availability_(availability_of(config.availability, num_clients, seed)) {}

double Devices::round_trip_s(std::uint32_t client, std::uint64_t examples, std::uint64_t bytes_down,
                             std::uint64_t bytes_up) const {
    const DeviceSpeed& speed = speeds_.at(client);
    return static_cast<double>(bytes_down) / speed.download + static_cast<double>(examples) * speed.seconds_per_example +
           static_cast<double>(bytes_up) / speed.upload;
}

}  // namespace fedhive::sim
