// Sweep files for tests: with a base beside them, and loading that returns the error's text.
#pragma once

#include "sim/config/sweep_config.h"
#include "tests/sim/config/config_files.h"

#include <string>
#include <vector>

namespace fedhive::sim::testing {

/// The base is c.yaml: kMinimal plus further lines.
struct SweepFolder {
    explicit SweepFolder(const std::string& more = "") { folder.write("c.yaml", kMinimal + more); }

    /// Line 1 names the base; `text` begins on line 2.
    SweepConfig load(const std::string& text, const std::vector<std::string>& overrides = {}) const {
        return load_sweep(folder.write("s.yaml", "base: c.yaml\n" + text), overrides);
    }

    /// The ConfigError's text without the folder, or "" if the sweep loads.
    std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) const {
        try {
            load(text, overrides);
        } catch (const ConfigError& error) {
            return without_folder(error.what());
        }
        return "";
    }

    std::string without_folder(std::string message) const {
        const std::string prefix = folder.path().string() + "/";
        for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
            message.erase(at, prefix.size());
        return message;
    }

    TemporaryFolder folder;
};

inline std::vector<std::string> ids_of(const SweepConfig& sweep) {
    std::vector<std::string> ids;
    for (const SweepRun& run : sweep.runs) ids.push_back(run.id);
    return ids;
}

inline std::vector<std::string> values_of(const SweepRun& run) {
    std::vector<std::string> values;
    for (const Setting& setting : run.settings) values.push_back(setting.value);
    return values;
}

}  // namespace fedhive::sim::testing
