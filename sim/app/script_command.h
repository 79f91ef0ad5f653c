// `fedhive report`, `fedhive bench`: hand over to the script of that name, which does its work with Python.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Becomes scripts/NAME of the checkout that this program was built in. Throws ConfigError when it is not there.
[[noreturn]] void script_command(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace fedhive::sim
