// `fedhive report`: hands over to scripts/report, which draws with Python.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Becomes scripts/report of the checkout that this program was built in. Throws ConfigError when it is not there.
[[noreturn]] void report_command(const std::vector<std::string>& arguments);

}  // namespace fedhive::sim
