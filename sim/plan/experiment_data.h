// The data of an experiment: read or drawn, dealt to clients, and in memory that workers share.
#pragma once

#include "aggregation/memory/cuda_arena.h"
#include "clients/data/shared_dataset.h"
#include "sim/config/config.h"
#include "sim/ranks/ranks.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

struct ExperimentData {
    clients::SharedDataset dataset;
    std::uint64_t fingerprint = 0;  // of the examples, however they are dealt and skewed
    std::uint64_t partition_fingerprint = 0;
    std::vector<clients::DataWarning> warnings{};  // of rank 0 alone, where it loads for all
    std::vector<std::string> owners{};  // of each client, as the data name it: one line of UTF-8; empty: nobody has a name
    aggregation::IpcHandle handle{};    // CUDA: the examples in device memory
};

/// Of several ranks each loads its own, or all get those of rank 0 (data.shared). Throws ConfigError naming the key to blame: files, memory, a
/// client without examples, a normalization that does not fit, ranks that do not agree on who loads.
ExperimentData load_data(const LoadedConfig& loaded, aggregation::MemorySpace space, Ranks& ranks = Ranks::alone());

}  // namespace fedhive::sim
