// A config with the origin of its values, for code that may find one unusable.
#pragma once

#include "aggregation/base/error.h"
#include "sim/config/run_config.h"

#include <memory>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Origin of values, so that code that later finds one unusable (a model that does not fit the data) can name file and line.
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
    std::vector<std::string> notes{};  // what the strategy decided that the file does not say, a line each
};

}  // namespace fedhive::sim
