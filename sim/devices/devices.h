// Clients as simulated devices, for the virtual clock: round-trip times in simulated seconds, and availability. Nothing here
// waits, and nothing depends on the machine, on workers or on earlier calls.
#pragma once

#include "sim/devices/availability.h"
#include "sim/devices/device_trace.h"
#include "sim/devices/devices_config.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fedhive::sim {

class Devices {
public:
    /// Order: a client's lognormal draws depend on (seed, client) alone, availability on (seed, client, period); zipf's ranks
    /// are a permutation of all clients, so they change with num_clients.
    ///
    /// Throws   ConfigError  for an invalid trace; names file and line.
    /// Cost     24 bytes a client, and 16 a row of the availability trace.
    Devices(const DevicesConfig& config, std::uint64_t num_clients, std::uint64_t seed);

    /// Simulated seconds from sending to a client until its update has arrived: download + training + upload. `examples` counts
    /// an example once for each local epoch. Finite; 0 if nothing is sent or trained.
    double round_trip_s(std::uint32_t client, std::uint64_t examples, std::uint64_t bytes_down, std::uint64_t bytes_up) const;

    /// Whether `client` is available at at_s, finite and 0 or more. With scheme `probability`, at_s is less than 2^52 periods, and draws repeat
    /// after 2^32 periods.
    bool available(std::uint32_t client, double at_s) const { return availability_->at(client, at_s); }

    /// The earliest time >= at_s at which `client` is available; infinity if never again (possible only with a trace). Cost:
    /// with scheme `probability`, 1 / probability draws on average.
    double next_available_s(std::uint32_t client, double at_s) const { return availability_->next_s(client, at_s); }

    /// Whether every client is available at any time.
    bool always_available() const { return availability_->always(); }

private:
    std::vector<DeviceSpeed> speeds_;  // by client
    std::unique_ptr<Availability> availability_;
};

}  // namespace fedhive::sim
