// Repeats one client's training of one round of a run, step by step: starts from the nearest checkpoint and follows the run's
// tables for the rounds between. For the analysis of a single client, in one process, in a debugger if necessary.
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

/// Calls `say` with one line per local step, and finally with whether the update has the run's bits; returns that. A client
/// that arrived twice in the round is trained twice. Changes nothing in the folder. Throws ConfigError if there is no run, if
/// the round or the client is not in its record, or if the client failed then.
bool replay(const ReplayOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace fedhive::sim
