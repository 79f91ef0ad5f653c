// Repeats one client's training in one round of a finished run, step by step, in one process, for the analysis of a single client. Starts from
// the nearest checkpoint and repeats the rounds between by the run's tables.
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

/// Calls `say` with a line for each local step, and at the end with a line that says whether the update has the run's bits; returns whether it
/// has. A client that arrived twice in the round is trained twice. Changes nothing in the folder. Throws ConfigError if the folder has no
/// run, if the round or the client is not in its tables, or if the client failed in that round.
bool replay(const ReplayOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace fedhive::sim
