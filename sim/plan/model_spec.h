// The model that a config asks for, on the data that it asks for.
#pragma once

#include "clients/data/data_format.h"
#include "clients/models/catalog.h"
#include "sim/config/config.h"

namespace fedhive::sim {

/// Shape and classes of the examples, without drawing or reading more than it takes. Throws ConfigError for what cannot be read.
clients::DataShape data_shape(const LoadedConfig& loaded);

/// The key that says which model it is: "model.name" or "model.layers".
std::string model_key(const RunConfig& run);

/// Throws ConfigError, with file, line and key, where it does not fit the examples, in a list of layers the one to blame; or keeps running
/// statistics that the mode cannot average.
clients::ModelSpec model_spec(const LoadedConfig& loaded, const clients::DataShape& data);

}  // namespace fedhive::sim
