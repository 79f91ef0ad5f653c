// An experiment's data: read or drawn, partitioned among clients, in memory that workers share.
#pragma once

#include "aggregation/memory/cuda_arena.h"
#include "clients/data/shared_dataset.h"
#include "sim/config/loaded_config.h"
#include "sim/ranks/ranks.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

struct ExperimentData {
    clients::SharedDataset dataset;
    std::uint64_t fingerprint = 0;  // of the examples, before partition and skew
    std::uint64_t partition_fingerprint = 0;
    std::vector<clients::DataWarning> warnings{};  // only of rank 0 if it loads for all
    std::vector<std::string> owners{};             // each client's name in the data: one line of UTF-8; empty: no names
    aggregation::IpcHandle handle{};               // CUDA: the examples in device memory
};

/// Loads the data. With several ranks, each loads its own, or all get those of rank 0 (data.shared). Throws ConfigError naming
/// the key to blame: files, memory, a client without examples, a normalization that does not fit, ranks that disagree on who
/// loads.
ExperimentData load_data(const LoadedConfig& loaded, aggregation::MemorySpace space, Ranks& ranks = Ranks::alone());

}  // namespace fedhive::sim
