// Configs by name: `fedhive run quickstart`.
#pragma once

#include <string>

namespace fedhive::sim {

/// The path that a command line means: `given` if there is such a file; else configs/GIVEN.yaml of the program's checkout or Python package
/// (home_folder()) if there is one, as for quickstart, modes/async, sweeps/smoke; else `given`.
std::string named_config(const std::string& given);

}  // namespace fedhive::sim
