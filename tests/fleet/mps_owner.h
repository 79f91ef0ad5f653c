// A process that owns an MPS daemon and is killed.
#pragma once

#include "sim/workers/mps.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fedhive::testing {

/// Writes the daemon's folder to a file (atomically), then waits to be killed.
inline int own_a_daemon(const std::filesystem::path& file) {
    const sim::MpsDaemon daemon;
    std::ofstream(file.string() + ".part") << daemon.folder().string();
    std::filesystem::rename(file.string() + ".part", file);
    for (;;) pause();
}

}  // namespace fedhive::testing
