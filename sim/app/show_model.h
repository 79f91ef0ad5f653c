// What `fedhive show-model` prints: a config's model, layer by layer.
#pragma once

#include "sim/config/config.h"

#include <string>

namespace fedhive::sim {

/// Number, kind, name of the parameters, output, parameters and FLOPs of each layer, and in all; looks at no more of the data than its shape
/// and classes. Throws ConfigError where the data cannot be read, or a layer does not fit.
std::string model_table(const LoadedConfig& loaded);

}  // namespace fedhive::sim
