// `fedhive report`, `fedhive bench`, the end of `fedhive privacy`: replaced by a script of the checkout, which uses Python.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Replaces this process by a script, such as scripts/report, of the checkout in which this program was built. Throws
/// ConfigError if it does not exist.
[[noreturn]] void script_command(const std::string& path, const std::vector<std::string>& arguments);

/// False for a program that is not below its checkout.
bool has_script(const std::string& path);

}  // namespace fedhive::sim
