// The model of an experiment and the memory that it takes: layout, cut, arena, the parameters that round 1 starts from.
#pragma once

#include "aggregation/memory/arena.h"
#include "aggregation/memory/channels.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/layout.h"
#include "clients/data/shared_dataset.h"
#include "clients/models/catalog.h"
#include "clients/models/cut.h"
#include "clients/models/local_part.h"
#include "sim/config/config.h"
#include "sim/ranks/ranks.h"
#include "sim/round/mode.h"
#include "sim/round/slot_plan.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace fedhive::sim {

/// Throws ConfigError where its parameters do not fit the memory; before the model is built.
aggregation::Layout lay_out(const LoadedConfig& loaded, const clients::ModelSpec& model, aggregation::MemorySpace space,
                            std::uint32_t num_workers);

/// What travels beside the model and what clients keep, as the parts of the strategy and the steps of the upload chain say, and the model's part
/// that is each client's own.
aggregation::Channels channels_of(const RunConfig& run, const aggregation::Layout& layout,
                                  const clients::LocalPart& local_part);

/// The model's layout, and behind it that of each channel that travels, one value for each parameter: "control.<name>".
aggregation::Layout what_travels(const aggregation::Channels& channels, const aggregation::Layout& layout);

/// Of what clients keep, once all are seen that can be; 0: nothing.
std::uint64_t client_state_bytes(const RunConfig& run, const aggregation::Channels& channels, std::uint64_t num_clients);

/// The folder itself, or the nearest one above it that is there: on whose disk a run in `folder` keeps what its clients do. Empty for an empty one.
std::filesystem::path existing_folder(const std::filesystem::path& folder);

/// For what clients keep; for nothing where they keep nothing. Where the config wants a file and `folder`, the run's, is known, on its disk. Throws
/// ConfigError where all that the run may come to does not fit; in memory, with several ranks, it has to fit twice: where such a run is taken up
/// again, its checkpoint lies beside it.
aggregation::ClientStates make_client_states(const LoadedConfig& loaded, const aggregation::Channels& channels,
                                             std::uint64_t num_clients, const Ranks& ranks,
                                             const std::filesystem::path& folder);

/// Where the mode cuts the model; nowhere in the others. Throws ConfigError for a layer that it has not.
clients::Cut make_cut(const LoadedConfig& loaded, const clients::ModelSpec& model, const aggregation::Layout& layout);

/// For these slots, the models that the mode keeps, and what is frozen. Throws ConfigError where there is not that much memory.
std::unique_ptr<aggregation::Arena> make_arena(const LoadedConfig& loaded, aggregation::MemorySpace space,
                                               std::uint32_t num_workers, const Mode& mode, const SlotPlan& slots,
                                               const aggregation::Layout& layout, const clients::Cut& cut,
                                               std::uint64_t frozen_floats, const aggregation::Channels& channels);

/// What an experiment begins with: [P], and what stays as it is, [F].
struct FirstModel {
    std::vector<float> parameters;
    std::vector<float> frozen;
};

/// Of a model whose tensors lie as whole_layout() has them.
FirstModel parted(const clients::ModelSpec& model, const std::vector<float>& whole);

/// Of model.init, or drawn from the seed, or a graph's own. Throws ConfigError where the file's tensors are not the model's.
FirstModel first_model(const LoadedConfig& loaded, const clients::ModelSpec& model);

}  // namespace fedhive::sim
