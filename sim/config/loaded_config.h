// A config with the origin of its values.
#pragma once

#include "aggregation/base/error.h"
#include "sim/config/run_config.h"

#include <memory>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Makes errors that name file and line of a value, for code that later finds a value unusable (a model that does not fit the data).
class ConfigSource {
public:
    virtual ~ConfigSource() = default;
    /// "configs/mnist.yaml:14: model.name: <problem>", or "--set model.name=x: model.name: …"; only the file for a key left
    /// out.
    virtual ConfigError error(const std::string& key_path, const std::string& problem) const = 0;
};

struct LoadedConfig {
    RunConfig run;
    std::shared_ptr<const ConfigSource> source;
    std::vector<std::string> notes{};  // values that the strategy set and the file does not give, a line each
};

}  // namespace fedhive::sim
