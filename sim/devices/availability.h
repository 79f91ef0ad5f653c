// Schemes of clients' availability, by name: when a client can be asked to train. Each scheme is one file of availabilities/. To add one: write
// its file, add its line to availability.cpp.
#pragma once

#include "aggregation/base/keys.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fedhive::sim {

class Availability {
public:
    Availability() = default;
    Availability(const Availability&) = delete;
    Availability& operator=(const Availability&) = delete;
    virtual ~Availability() = default;

    /// True if every client is available at any time.
    virtual bool always() const { return false; }

    /// The earliest time >= at_s, in simulated seconds, at which `client` is available; infinity if never again. at_s: finite,
    /// 0 or more.
    virtual double next_s(std::uint32_t client, double at_s) const = 0;

    virtual bool at(std::uint32_t client, double at_s) const { return next_s(client, at_s) == at_s; }
};

struct AvailabilityScheme {
    std::string name;
    std::string summary;  // half a line
    std::vector<KeySpec> keys;
    /// `values`: of all its keys. Throws ConfigError for an invalid file.
    std::unique_ptr<Availability> (*build)(const Values& values, std::uint64_t num_clients, std::uint64_t seed) = nullptr;
};

/// All schemes, in the order of REFERENCE.md.
const std::vector<AvailabilityScheme>& availability_catalog();

/// The name must exist.
const AvailabilityScheme& availability_scheme(const std::string& name);

}  // namespace fedhive::sim
