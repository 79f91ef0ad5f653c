// `fedhive report`, `fedhive bench`: hand over to a script of the checkout, which does its work with Python.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Becomes the script, such as scripts/report, of the checkout that this program was built in. Throws ConfigError when it is not there.
[[noreturn]] void script_command(const std::string& path, const std::vector<std::string>& arguments);

}  // namespace fedhive::sim
