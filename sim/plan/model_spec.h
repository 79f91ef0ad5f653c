// The model that a config asks for, on the data that it asks for.
#pragma once

#include "clients/data/data_format.h"
#include "clients/exported/model_file.h"
#include "clients/models/catalog.h"
#include "sim/config/config.h"

namespace fedhive::sim {

/// Shape and classes of the examples, without drawing or reading more than it takes. Throws ConfigError for what cannot be read.
clients::DataShape data_shape(const LoadedConfig& loaded);

/// Throws ConfigError where the task does not take such targets or examples, with both names, or is to stop by a metric that such data have not.
void check_data_of_task(const LoadedConfig& loaded, const clients::DataShape& data);

/// The key that says which model it is: "model.name", "model.layers" or "model.file".
std::string model_key(const RunConfig& run);

/// What model.file names, if anything. Throws ConfigError where it cannot be read, or is another file than model.file_sha256 says.
clients::exported::ModelFile open_model_file(const LoadedConfig& loaded);

/// `file` is that of the config, and must outlive the model. A graph is tried on a few examples of zeros. Throws ConfigError, with file, line and key,
/// where the model does not fit the examples, in a list of layers the one to blame; keeps running statistics that the mode cannot average; or is a
/// graph that the mode or the engine cannot take.
clients::ModelSpec model_spec(const LoadedConfig& loaded, const clients::DataShape& data,
                              const clients::exported::ModelFile& file);

/// How model.file is run, "graph" or "layers"; empty of any other model.
std::string form_of(const clients::ModelSpec& model);

/// Why model.file is run as a graph; empty: it is run as layers.
std::string kept_as_graph(const RunConfig& run, const clients::ModelSpec& model);

}  // namespace fedhive::sim
