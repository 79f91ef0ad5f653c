// Starts the scripts behind `fedhive report`, `fedhive data`, `fedhive bench` and the end of `fedhive privacy`, which need Python.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Replaces this process by a script, such as scripts/report, of the program's checkout or Python package (home_folder()). Throws
/// ConfigError if it does not exist.
[[noreturn]] void script_command(const std::string& path, const std::vector<std::string>& arguments);

bool has_script(const std::string& path);

}  // namespace fedhive::sim
