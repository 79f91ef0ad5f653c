// `fedhive watch`: follows a run or a sweep from another terminal, at any time, until it ends. Only reads the folder.
#pragma once

#include <filesystem>

namespace fedhive::sim {

/// On a terminal: the rounds and a live line, or a sweep's table. Piped: a plain line for each round, or for each status change
/// of a run. Returns the exit code: 0 it has finished, or the reader is gone; 1 it ended otherwise (prints what to do); 130 the
/// user left. Throws ConfigError for a folder that is neither a run nor a sweep.
int watch_command(const std::filesystem::path& folder);

}  // namespace fedhive::sim
