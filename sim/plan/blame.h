// What a lower floor finds wrong, told with the key that caused it.
#pragma once

#include "aggregation/base/keys.h"
#include "sim/config/config.h"

#include <new>
#include <string>

namespace fedhive::sim {

/// The keys and values of a section, some of which name files, and the key to blame for what is wrong in none of them.
struct NamedFiles {
    std::string section;
    const std::vector<KeySpec>& keys;
    const Values& values;
    std::string otherwise;
};

/// Of `data` and of `devices`.
NamedFiles named_files(const DataConfig& data);
NamedFiles named_files(const DevicesConfig& devices);

/// The key of the file or folder that the problem begins with: "data.train" for "/data/train.npz: there is no such file".
std::string key_to_blame(const NamedFiles& files, const std::string& problem);

/// "needs more memory than there is; … are available"
std::string no_memory();

/// Runs `make`; throws its ConfigError, or want of memory, with file and line of that key.
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

/// The same of what reads files.
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
