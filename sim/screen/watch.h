// `fedhive watch`: follows a run or a sweep from another terminal, at any time, until it ends. It reads the folder and nothing else.
#pragma once

#include <filesystem>

namespace fedhive::sim {

/// On a terminal the rounds and a live line, or a sweep's table; piped, a plain line for each round, or for each run whose status changes.
/// Returns the exit code: 0 it has finished, or nobody reads any more; 1 it ended otherwise, and what to do is said; 130 the user left. Throws
/// ConfigError for a folder that is neither a run nor a sweep.
int watch_command(const std::filesystem::path& folder);

}  // namespace fedhive::sim
