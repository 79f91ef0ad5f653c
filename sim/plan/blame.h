// Errors of lower floors, reported with the key that caused them.
#pragma once

#include "aggregation/base/keys.h"
#include "sim/config/loaded_config.h"

#include <new>
#include <string>

namespace fedhive::sim {

/// A section's keys and values, some of which name files, and the key to blame if the problem is in none of the files.
struct NamedFiles {
    std::string section;
    const std::vector<KeySpec>& keys;
    const Values& values;
    std::string otherwise;
};

/// Those of `data` and of `devices`.
NamedFiles named_files(const DataConfig& data);
NamedFiles named_files(const DevicesConfig& devices);

/// The key whose file or folder the problem begins with: "data.train" for "/data/train.npz: there is no such file".
std::string key_to_blame(const NamedFiles& files, const std::string& problem);

/// "needs more memory than there is; … are available"
std::string no_memory();

/// Returns make(). Rethrows its ConfigError or std::bad_alloc as a ConfigError with file and line of `key`.
template <typename Make>
auto blame(const LoadedConfig& loaded, const std::string& key, Make make) {
    try {
        return make();
    } catch (const ConfigError& error) {
        throw loaded.source->error(key, error.what());
    } catch (const std::bad_alloc&) {
        throw loaded.source->error(key, no_memory());
    }
}

/// The same for a `make` that reads files: blames the key of the file.
template <typename Make>
auto blame(const LoadedConfig& loaded, const NamedFiles& files, Make make) {
    try {
        return make();
    } catch (const ConfigError& error) {
        throw loaded.source->error(key_to_blame(files, error.what()), error.what());
    } catch (const std::bad_alloc&) {
        throw loaded.source->error(files.otherwise, no_memory());
    }
}

}  // namespace fedhive::sim
