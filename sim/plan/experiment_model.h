// An experiment's model and its memory: layout, cut, arena, first parameters.
#pragma once

#include "aggregation/memory/arena.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/memories.h"
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
#include <string>
#include <vector>

namespace fedhive::sim {

/// The model's layout. Throws ConfigError, before the model is built, if its parameters do not fit into memory.
aggregation::Layout lay_out(const LoadedConfig& loaded, const clients::ModelSpec& model, aggregation::MemorySpace space,
                            std::uint32_t num_workers);

/// The sizes of memories of a model with that layout. Features are the columns of its last tensor that has a row for each class.
aggregation::Dimensions dimensions_of(const aggregation::Layout& layout, const clients::LocalPart& local_part,
                                      std::uint64_t classes);

/// The memories beside the model: those of the strategy's parts, of the upload chain's steps, and of the part of the model that
/// is each client's own.
aggregation::Memories memories_of(const RunConfig& run, const aggregation::Dimensions& dimensions);

/// The model's layout, followed by that of each memory that travels: with one value per parameter "control.<name>", else a table.
aggregation::Layout what_travels(const aggregation::Memories& memories, const aggregation::Layout& layout);

/// "control 1200, local 64": the memories in a client's record, in their order. Empty if there are not several: then the record's
/// length says all.
std::string record_text(const aggregation::Memories& memories);

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

/// The mode's cut of the model; empty in other modes. Throws ConfigError for a layer that the model does not have.
clients::Cut make_cut(const LoadedConfig& loaded, const clients::ModelSpec& model, const aggregation::Layout& layout);

/// The arena for these slots, the mode's models, and the frozen parameters. Throws ConfigError if memory does not suffice.
std::unique_ptr<aggregation::Arena> make_arena(const LoadedConfig& loaded, aggregation::MemorySpace space,
                                               std::uint32_t num_workers, const Mode& mode, const SlotPlan& slots,
                                               const aggregation::Layout& layout, const clients::Cut& cut,
                                               std::uint64_t frozen_floats, const aggregation::Memories& memories);

/// What an experiment begins with: [P], and the frozen parameters, [F].
struct FirstModel {
    std::vector<float> parameters;
    std::vector<float> frozen;
};

/// Splits the values of a model that is laid out as whole_layout().
FirstModel parted(const clients::ModelSpec& model, const std::vector<float>& whole);

/// The model of model.init, or one drawn from the seed, or a graph's own. Throws ConfigError if the file's tensors do not match
/// the model's.
FirstModel first_model(const LoadedConfig& loaded, const clients::ModelSpec& model);

}  // namespace fedhive::sim
