// Who computes local steps: what training.engine comes to for this experiment.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/models/cut.h"
#include "clients/training/features.h"
#include "clients/training/worker_plan.h"
#include "sim/config/config.h"

#include <string>

namespace fedhive::sim {

/// As the config writes it: "libtorch", "direct".
std::string name_of(clients::Engine engine);

/// What the direct engine runs there: "avx512", "avx2", "plain", or "cuda".
std::string direct_kernels(aggregation::MemorySpace space);

/// Who trains, and what for.
struct EngineChoice {
    clients::Engine engine = clients::Engine::Libtorch;
    std::string why;          // it is not the direct engine: "the direct engine has no batch_norm (layer 1)"; empty where it is
    clients::Features asked;  // of it, all honoured

    /// Whether workers train whole clients side by side, a thread block each (clients/training/whole_clients.h).
    bool in_blocks(aggregation::MemorySpace space) const { return way_of(engine, space, asked) == clients::Way::DirectBlocks; }
};

/// Throws ConfigError, with file and line, where the direct engine is asked for and cannot do it, and where none can.
EngineChoice choose_engine(const LoadedConfig& loaded, aggregation::MemorySpace space, const clients::ModelSpec& model,
                           const clients::Cut& cut);

}  // namespace fedhive::sim
