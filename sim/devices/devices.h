// Clients as simulated devices, for the virtual clock: how long a round trip takes in simulated seconds, and when a client is there at all.
// Nothing here waits; and nothing depends on the machine, on workers or on what was asked before.
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
    /// Order: a client's lognormal draws depend on (seed, client) alone, availability on (seed, client, period); zipf's ranks are a
    /// permutation of the clients there are, so they are dealt anew where num_clients changes.
    ///
    /// Throws   ConfigError  a trace is wrong; names file and line.
    /// Cost     24 bytes a client, and 16 a row of the availability trace.
    Devices(const DevicesConfig& config, std::uint64_t num_clients, std::uint64_t seed);

    /// Simulated seconds from the moment a client is asked until its update is there: download, training, upload, one after the other.
    /// `examples` counts an example once for each local epoch. Finite, and 0 for nothing.
    double round_trip_s(std::uint32_t client, std::uint64_t examples, std::uint64_t bytes_down, std::uint64_t bytes_up) const;

    /// at_s: finite, 0 or more; with scheme `probability` less than 2^52 periods, and draws repeat after 2^32 of them.
    bool available(std::uint32_t client, double at_s) const { return availability_->at(client, at_s); }

    /// The earliest time from at_s on at which `client` is available; infinity when it will not be again, which only a trace can say.
    /// Cost: with scheme `probability`, 1 / probability draws in the mean.
    double next_available_s(std::uint32_t client, double at_s) const { return availability_->next_s(client, at_s); }

    /// Every client at any time.
    bool always_available() const { return availability_->always(); }

private:
    std::vector<DeviceSpeed> speeds_;  // by client
    std::unique_ptr<Availability> availability_;
};

}  // namespace fedhive::sim
