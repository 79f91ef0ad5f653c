// Files that are there whole or not at all, also after a crash or a power cut.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace fedhive::sim {

/// Writes beside `file`, syncs, renames, and syncs the folder, so that the new name lasts. Where that fails, what stood under the name
/// stands there still and nothing is left beside it. Throws Fault with the path.
void write_file(const std::filesystem::path& file, std::string_view content);

/// The same of a content that comes in parts, so that all of it never lies in memory: `write` hands them to what it is given.
using WritePart = std::function<void(std::string_view part)>;
void write_file(const std::filesystem::path& file, const std::function<void(const WritePart&)>& write);

/// Opens a file of this program's own for writing, created where it is missing. Whoever else may write to the folder cannot lead it elsewhere
/// by a symbolic link, nor make it wait by a pipe. Throws Fault with the path. The caller closes.
int open_own_file(const std::filesystem::path& file, int flags);

}  // namespace fedhive::sim
