// Reads strategy.file: a method as YAML, or as Python that is traced once into the same. docs/methods.md.
#pragma once

#include "sim/strategies/method.h"

#include <filesystem>
#include <memory>

namespace fedhive::sim {

/// The method of a file. Each content is read once in a process.
///
/// .py      runs `python3 -m fedhive.method FILE` (FEDHIVE_PYTHON names another Python); .yaml, .yml, .json are read as they are
///
/// Throws   ConfigError for a file that cannot be read, or is no method: what is wrong, with file and line.
std::shared_ptr<const Method> load_method(const std::filesystem::path& file);

/// The method of the Python file `given`, whose only function Python runs, at a place, "server" or "visit". key: that names the file. What Python said
/// of a text is remembered. Throws ConfigError, as load_method().
std::shared_ptr<const Method> load_python(const std::filesystem::path& given, const std::string& place, const std::string& key);

/// A method of a gradient alone, with no keys, called `name`. Throws ConfigError.
std::shared_ptr<const Method> method_of_gradient(const std::string& formula, const std::string& name);

}  // namespace fedhive::sim
