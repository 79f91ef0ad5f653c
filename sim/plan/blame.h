// What a lower floor finds wrong, told with the key that caused it.
#pragma once

#include "sim/config/config.h"
#include "sim/machine/machine.h"

#include <new>
#include <string>

namespace fedhive::sim {

/// Runs `make`; throws its ConfigError, or want of memory, with file and line of that key.
template <typename Make>
auto blame(const LoadedConfig& loaded, const std::string& key, Make make) {
    try {
        return make();
    } catch (const ConfigError& error) {
        throw loaded.source->error(key, error.what());
    } catch (const std::bad_alloc&) {
        const std::uint64_t available = this_machine().available_memory;
        throw loaded.source->error(key, fmt::format("needs more memory than there is; {} bytes ({}) are available", available,
                                                    human_bytes(available)));
    }
}

}  // namespace fedhive::sim
