// Measured memory of runs, as the expectation for similar runs. Of runs with the same model, data and training only one is
// measured: memory depends on the resolved config without name, seeds, rounds, workers and rates.
#pragma once

#include "sim/config/run_config.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace fedhive::sim {

/// Runs with the same key use the same memory.
std::string memory_key(RunConfig config);

class Measurements {
public:
    /// Keeps the largest peak.
    void note_host(const std::string& key, std::int64_t workers, std::uint64_t bytes);
    void note_device(const std::string& key, std::uint64_t bytes);

    /// 1.1 times the measured bytes, scaled to `workers`; `estimate` if nothing was measured.
    std::uint64_t host_bytes(const std::string& key, std::int64_t workers, std::uint64_t estimate) const;

    /// The same for a device; if this key was not measured, the largest of all keys; empty before the first measurement.
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
