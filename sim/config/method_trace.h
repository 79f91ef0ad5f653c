// A method file in Python is run once on symbols, by the Python that is there; what comes back is its box.
#pragma once

#include <filesystem>
#include <string>

namespace fedhive::sim {

/// The file's text. Throws ConfigError for a file that cannot be read.
std::string content_of(const std::filesystem::path& file);

/// The box that `python3 -m fedhive.method FILE --out BOX` writes. Throws ConfigError with what it says. FEDHIVE_PYTHON names another Python,
/// FEDHIVE_PYTHONPATH the folder of the package.
std::string traced_method(const std::filesystem::path& file);

}  // namespace fedhive::sim
