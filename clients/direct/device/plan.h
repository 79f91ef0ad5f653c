// From a model's list of layers to what one block of threads runs (network.h), and where the block keeps it: in a multiprocessor's shared
// memory as much as has room there, the rest in the device's. Decided by sizes alone, and no bit depends on it.
#pragma once

#include "clients/direct/device/network.h"
#include "clients/models/catalog.h"

#include <string>
#include <vector>

namespace fedhive::clients::direct::device {

struct Plan {
    std::vector<Layer> layers;
    Network network;  // of no memory yet: its `layers` is null
};

/// Throws ConfigError for a model that misfit() of the direct engine (clients/direct/network.h) names, or that does not fit its data.
Plan make_plan(const ModelSpec& spec);

/// What lies in shared memory, from its beginning in this order; the rows' values at its end.
struct Placement {
    std::uint32_t group = 0;  // rows; 0: not even one has room
    bool parameters = false, gradient = false, velocity = false;
    std::uint32_t bytes = 0;
};

/// Rows first, up to kLeastRows of them; then the parameters, the gradient and the velocity, as far as each has room; then more rows, up to
/// `batch`.
inline constexpr std::uint32_t kLeastRows = 4;
Placement place(const Network& network, std::uint32_t batch, bool momentum, std::uint32_t shared_bytes);

/// Bytes that a group of one row takes, the least that a block can do with.
std::uint32_t least_bytes(const Network& network);

/// Why no block can train the model, in words that follow "the direct engine "; empty where one can.
std::string too_large(const ModelSpec& spec, std::uint32_t shared_bytes);

}  // namespace fedhive::clients::direct::device
