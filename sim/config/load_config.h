// Configs read from files, written, compared and described.
#pragma once

#include "sim/config/loaded_config.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Reads a file strictly and applies `overrides` ("training.batch_size=32", in order; each key must exist; =null removes one).
/// Relative paths are resolved against the file's folder, in overrides against the current one. Throws ConfigError: unknown
/// (with a suggestion) or duplicate key, wrong type, value out of range, missing value, incompatible strategy and mode, cohort
/// larger than the number of clients, a file that is missing, empty or not YAML. If `file` is the config.yaml of a run and its
/// strategy.file no longer exists, the copy of the method in the run's folder is used.
LoadedConfig load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

/// Sets the number of clients, when it is known only after the data were read. Throws as load_config if it does not fit other keys.
LoadedConfig with_clients(LoadedConfig loaded, std::int64_t clients);

/// The resolved config: every key that applies, with its value. A valid input of load_config, which then gives the same
/// RunConfig.
std::string to_yaml(const RunConfig& run);

/// Reads the output of to_yaml; messages name `origin` instead of a file. folder: of a run, whose copy of the method is used. Throws as
/// load_config.
RunConfig from_yaml(const std::string& text, const std::string& origin, const std::filesystem::path& folder = {});

/// The value of a top-level key in an output of to_yaml, as written; empty if there is none, or if the text is not YAML.
std::string top_level_value(const std::string& yaml, const std::string& key);

/// A key in which two resolved configs differ; a value is empty if the key is left out.
struct ConfigChange {
    std::string key;
    std::string before;
    std::string after;
    bool allowed;  // a resumed run may have this change, since it cannot affect the results of finished rounds
};
std::vector<ConfigChange> changes(const RunConfig& before, const RunConfig& after);

/// The keys that may change when a run is resumed, in file order.
std::vector<std::string> keys_that_may_change();

/// The keys of a section that apply, with their values in the resolved config: "model.hidden" -> "200".
std::map<std::string, std::string> values_below(const RunConfig& run, const std::string& section);

/// Every key that a config can have, "training.optimizer.lr", sorted; includes keys of choices that are not taken; a list of
/// maps is one key.
std::vector<std::string> config_keys();

/// The text of configs/REFERENCE.md.
std::string reference_markdown();

}  // namespace fedhive::sim
