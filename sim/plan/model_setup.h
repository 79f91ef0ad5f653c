// An experiment's model: its layers and layouts, what travels beside it, its cut, its first parameters.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/memories.h"
#include "clients/data/data_format.h"
#include "clients/exported/shared_model_file.h"
#include "clients/models/catalog.h"
#include "clients/models/cut.h"
#include "clients/models/local_part.h"
#include "sim/config/loaded_config.h"
#include "sim/plan/placement.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// What an experiment begins with: [P], and the frozen parameters, [F].
struct FirstModel {
    std::vector<float> parameters;
    std::vector<float> frozen;
    std::vector<std::vector<float>> drawn{};  // of the memories that begin as another model, in their order
};

struct ModelSetup {
    clients::exported::SharedModelFile file;  // of model.file
    clients::ModelSpec spec;
    aggregation::Layout layout;      // of the trained model, without frozen parameters
    aggregation::Layout frozen;      // of the frozen parameters
    clients::LocalPart local_part;   // the part of the layout that is each client's own
    aggregation::Memories memories;  // beside the model, those that clients keep among them
    aggregation::Layout region;      // of an arena's region: the model, and the memories that are sent after it
    clients::Cut cut;                // mode split

    /// The config's model for such data. Needs no data, only their shape. Throws ConfigError, before the parameters exist, if
    /// the model does not fit the data, or the memory of this machine.
    static ModelSetup make(const LoadedConfig& loaded, const clients::DataShape& data, const Placement& placement);

    /// The model of model.init, or one drawn from the seed, or a graph's own. Throws ConfigError if the file's tensors do not
    /// match the model's.
    FirstModel first(const LoadedConfig& loaded) const;
};

/// The sizes of memories of a model with that layout. Features are the columns of its last tensor that has a row for each class.
aggregation::Dimensions dimensions_of(const aggregation::Layout& layout, const clients::LocalPart& local_part,
                                      std::uint64_t classes);

/// The memories beside the model: those of the strategy's parts, of the upload chain's steps, and of the part of the model that
/// is each client's own.
aggregation::Memories memories_of(const RunConfig& run, const aggregation::Dimensions& dimensions);

/// The layout of a region or of a slot: the model's, followed by that of each memory that travels. One with a value per parameter
/// has the tensors "control.<tensor of the model>", any other is a table. Where two memories share an offset, a region has the name
/// of the one that goes down, a slot that of the other.
aggregation::Layout region_layout(const aggregation::Memories& memories, const aggregation::Layout& layout);
aggregation::Layout slot_layout(const aggregation::Memories& memories, const aggregation::Layout& layout);

/// "control 1200, local 64": the memories in a client's record, in their order. Empty if there are not several: then the record's
/// length says all.
std::string record_text(const aggregation::Memories& memories);

/// Splits the values of a model that is laid out as whole_layout().
FirstModel parted(const clients::ModelSpec& model, const std::vector<float>& whole);

}  // namespace fedhive::sim
