// The model that a config asks for, built for its data.
#pragma once

#include "clients/data/data_format.h"
#include "clients/exported/shared_model_file.h"
#include "clients/models/catalog.h"
#include "sim/config/loaded_config.h"

namespace fedhive::sim {

/// Shape and classes of the examples; draws or reads no more than that takes. Throws ConfigError for unreadable data.
clients::DataShape data_shape(const LoadedConfig& loaded);

/// Throws ConfigError, with both names, if the task does not take such targets or examples, or if its stop metric does not
/// exist for such data.
void check_data_of_task(const LoadedConfig& loaded, const clients::DataShape& data);

/// The key that selects the model: "model.name", "model.layers" or "model.file".
std::string model_key(const RunConfig& run);

/// Opens model.file; empty if not given. Throws ConfigError if it cannot be read, or if its hash is not model.file_sha256.
clients::exported::SharedModelFile open_model_file(const LoadedConfig& loaded);

/// `file` is that of the config and must outlive the model. Tries a graph on a few examples of zeros. Throws ConfigError, with
/// file, line and key, if the model does not fit the examples (for a list of layers, with the layer to blame), has running
/// statistics that the mode cannot average, or is a graph that the mode or the engine cannot take.
clients::ModelSpec model_spec(const LoadedConfig& loaded, const clients::DataShape& data,
                              const clients::exported::SharedModelFile& file);

/// How model.file is run, "graph" or "layers"; empty for any other model.
std::string form_of(const clients::ModelSpec& model);

/// Why model.file is run as a graph; empty if it is run as layers.
std::string kept_as_graph(const RunConfig& run, const clients::ModelSpec& model);

}  // namespace fedhive::sim
