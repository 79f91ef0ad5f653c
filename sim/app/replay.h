// Runs one client's training of one round again, step by step, as it was in a run: from the nearest checkpoint, following what the run's
// tables say of the rounds between. For a closer look at a client that behaves oddly, in one process, under a debugger if need be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace fedhive::sim {

struct ReplayOptions {
    std::filesystem::path folder;
    std::int64_t round = 1;  // as in clients.csv, from 1
    std::int64_t client = 0;
};

/// `say` gets one line a local step, and a last one that tells whether the update has the bits of the run. Returns that. A client that arrived
/// twice in the round is trained twice. Changes nothing in the folder. Throws ConfigError: no run, a round or a client that is not in its record, a client that failed then.
bool replay(const ReplayOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace fedhive::sim
