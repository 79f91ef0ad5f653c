// What runs have been seen to take, and so what others like them are expected to take. Of runs with the same model, data and training only
// one has to be measured: what decides about memory is the resolved config without name, seed, rounds, workers and rates.
#pragma once

#include "sim/config/config.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace fedhive::sim {

/// Runs that have it in common take the same memory.
std::string memory_key(RunConfig config);

class Measurements {
public:
    /// The largest peak so far counts.
    void note_host(const std::string& key, std::int64_t workers, std::uint64_t bytes);
    void note_device(const std::string& key, std::uint64_t bytes);

    /// What was measured, for so many workers, and a tenth more; `estimate` where nothing was.
    std::uint64_t host_bytes(const std::string& key, std::int64_t workers, std::uint64_t estimate) const;

    /// The same on a device; where this key was not measured, the most that any was; empty before the first measurement.
    std::optional<std::uint64_t> device_bytes(const std::string& key) const;

private:
    struct Host {
        std::int64_t workers = 0;
        std::uint64_t bytes = 0;
    };
    std::map<std::string, Host> host_;
    std::map<std::string, std::uint64_t> device_;
};

}  // namespace fedhive::sim
