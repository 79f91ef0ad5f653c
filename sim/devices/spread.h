// Distributions of a factor of slowness over clients: a client's times in the config are multiplied by its factor, its rates divided by it. Each
// distribution is one file of spreads/. To add one: write its file, add its line to spread.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/base/random.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

struct Spread {
    std::string name;
    std::string summary;  // half a line about its factors
    std::vector<KeySpec> keys;
    /// A factor above 0 for each client, drawn from streams (seed, Devices, draw, …). `values`: of all its keys.
    std::vector<double> (*factors)(const Values& values, std::uint64_t num_clients, std::uint64_t seed,
                                   std::uint32_t draw) = nullptr;
};

/// All distributions, in the order of REFERENCE.md.
const std::vector<Spread>& spread_catalog();

/// The name must exist.
const Spread& spread_of(const std::string& distribution);

}  // namespace fedhive::sim
