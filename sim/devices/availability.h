// When clients are there to be asked, by the name of a scheme: each lies in one file of availabilities/. To add one: write its file, add its
// line to availability.cpp.
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

    /// Every client at any time.
    virtual bool always() const { return false; }

    /// The earliest time from at_s on at which `client` is there; infinity when it will not be again. at_s: finite, 0 or more, simulated
    /// seconds.
    virtual double next_s(std::uint32_t client, double at_s) const = 0;

    virtual bool at(std::uint32_t client, double at_s) const { return next_s(client, at_s) == at_s; }
};

struct AvailabilityScheme {
    std::string name;
    std::string summary;  // half a line
    std::vector<KeySpec> keys;
    /// `values`: of all its keys. Throws ConfigError for a file that is wrong.
    std::unique_ptr<Availability> (*build)(const Values& values, std::uint64_t num_clients, std::uint64_t seed) = nullptr;
};

/// All schemes, in the order of REFERENCE.md.
const std::vector<AvailabilityScheme>& availability_catalog();

/// The name must exist.
const AvailabilityScheme& availability_scheme(const std::string& name);

}  // namespace fedhive::sim
