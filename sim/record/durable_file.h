// Atomic file writes that survive a crash or a power cut.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace fedhive::sim {

/// Writes beside `file`, syncs, renames, and syncs the folder, so that the new name lasts. On failure the old file remains, and
/// no temporary file. Throws Fault with the path.
void write_file(const std::filesystem::path& file, std::string_view content);

/// The same for content in parts, so that it is never in memory as a whole: `write` passes them to its argument.
using WritePart = std::function<void(std::string_view part)>;
void write_file(const std::filesystem::path& file, const std::function<void(const WritePart&)>& write);

/// Opens a file of this program for writing; creates it if missing. Does not follow a symbolic link, and does not block on a
/// pipe, that another user may have put there. Throws Fault with the path. The caller closes it.
int open_own_file(const std::filesystem::path& file, int flags);

}  // namespace fedhive::sim
