// The output of `fedhive show-model`: a config's model, layer by layer.
#pragma once

#include "sim/config/loaded_config.h"

#include <string>

namespace fedhive::sim {

/// Number, kind, parameter name, output, parameters and FLOPs of each layer, and totals. Of the data, it reads shape and classes only. Throws
/// ConfigError if the data cannot be read, or if a layer does not fit.
std::string model_table(const LoadedConfig& loaded);

}  // namespace fedhive::sim
