// Client state of a run: its size, where it is stored, and what is refused before round 1.
#pragma once

#include "aggregation/memory/client_states.h"
#include "aggregation/memory/memories.h"
#include "sim/config/loaded_config.h"
#include "sim/ranks/ranks.h"

#include <cstdint>
#include <filesystem>

namespace fedhive::sim {

/// Bytes of client state when all clients that can take part have done so; 0: clients keep no state.
std::uint64_t client_state_bytes(const RunConfig& run, const aggregation::Memories& memories, std::uint64_t num_clients);

/// `folder`, or its nearest existing parent: on its disk a run in `folder` stores client state. Empty if `folder` is empty.
std::filesystem::path existing_folder(const std::filesystem::path& folder);

/// The clients' state; empty if they keep none. In a file on the disk of `folder`, the run's, if the config wants a file and
/// `folder` is not empty; else in memory. Throws ConfigError if the largest state that the run can reach does not fit. In
/// memory, with several ranks, it must fit twice: on a resume the checkpoint is in memory beside it.
aggregation::ClientStates make_client_states(const LoadedConfig& loaded, const aggregation::Memories& memories,
                                             std::uint64_t num_clients, const Ranks& ranks,
                                             const std::filesystem::path& folder);

}  // namespace fedhive::sim
