// Files that are there whole or not at all, also after a crash or a power cut.
#pragma once

#include <filesystem>
#include <string_view>

namespace fedhive::sim {

/// Writes beside `file`, syncs, renames, and syncs the folder, so that the new name lasts. Where that fails, what stood under the name
/// stands there still and nothing is left beside it. Throws Fault with the path.
void write_file(const std::filesystem::path& file, std::string_view content);

}  // namespace fedhive::sim
