// Makes the network that one thread block runs (block_network.h) from a model's list of layers, and divides the block's memory: as much as
// fits is in a multiprocessor's shared memory, the rest in device memory. The division depends on sizes alone, and no bit depends on it.
#pragma once

#include "clients/direct/device/block_network.h"
#include "clients/models/catalog.h"

#include <string>
#include <vector>

namespace fedhive::clients::direct::device {

struct BlockPlan {
    std::vector<Layer> layers;
    BlockNetwork network;  // its `layers` is null until the layers are in device memory
};

/// Why no thread block can train the model, in words that follow "the direct engine has no ": the text of direct::misfit(), or the first
/// layer that only the host has. Empty if blocks can train it.
std::string misfit(const ModelSpec& spec);

/// Throws ConfigError for a model that misfit() names or that does not fit its data.
BlockPlan make_plan(const ModelSpec& spec);

/// The vectors in shared memory, in this order, and behind them a group's rows.
struct SharedPlacement {
    std::uint32_t group = 0;  // rows; 0: not even one fits
    bool parameters = false, gradient = false, velocity = false;
    bool rows = true;  // false: rows and outcomes are in device memory, floats_of_rows() for each block
    std::uint32_t bytes = 0;
};

/// Divides shared memory. First come up to kLeastRows rows, then parameters, gradient and velocity, each if it fits, then more rows up to
/// `batch`. If batches must be whole, all rows of the batch come first, or none.
inline constexpr std::uint32_t kLeastRows = 4;
SharedPlacement place(const BlockNetwork& network, std::uint32_t batch, bool momentum, std::uint32_t shared_bytes);

/// Floats of a placement's rows in device memory for one block; 0: they are in shared memory.
std::size_t floats_of_rows(const BlockNetwork& network, const SharedPlacement& placement);

/// Bytes of a group of one row, the least that a block needs.
std::uint32_t least_bytes(const BlockNetwork& network);

/// Why no block can train the model, in words that follow "the direct engine "; empty if one can.
std::string too_large(const ModelSpec& spec, std::uint32_t shared_bytes);

}  // namespace fedhive::clients::direct::device
