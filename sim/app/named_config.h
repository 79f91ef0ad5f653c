// Configs by name: `fedhive run quickstart`.
#pragma once

#include <string>

namespace fedhive::sim {

/// The config file that a command line means by `given`: that path if the file exists; else configs/GIVEN.yaml of the program's checkout or Python
/// package (home_folder()) if that exists, as for quickstart, modes/async, sweeps/smoke; else `given`.
std::string named_config(const std::string& given);

}  // namespace fedhive::sim
