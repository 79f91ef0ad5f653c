// The engine of local steps: the value of training.engine for this experiment.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/engine/features.h"
#include "clients/models/cut.h"
#include "clients/trainers/worker_plan.h"
#include "sim/config/loaded_config.h"

#include <string>

namespace fedhive::sim {

/// The direct engine's kernels on this machine: "avx512", "avx2", "plain", or "cuda".
std::string direct_kernels(aggregation::MemorySpace space);

/// The engine that trains, and the features that the run asks for.
struct EngineChoice {
    clients::Engine engine = clients::Engine::Libtorch;
    std::string why;          // reason against the direct engine: "the direct engine has no batch_norm (layer 1)"; else empty
    clients::Features asked;  // features that the run asks for; the engine has all of them

    /// Whether workers train whole clients side by side, a thread block each (clients/visit/whole_clients.h).
    bool in_blocks(aggregation::MemorySpace space) const { return way_of(engine, space, asked) == clients::Way::DirectBlocks; }
};

/// Throws ConfigError, with file and line, if the config asks for the direct engine and it cannot train this, or if no engine
/// can.
EngineChoice choose_engine(const LoadedConfig& loaded, aggregation::MemorySpace space, const clients::ModelSpec& model,
                           const clients::Cut& cut);

}  // namespace fedhive::sim
