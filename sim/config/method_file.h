// Reads strategy.file: a method as YAML, or as Python, whose functions are run once on symbols (traced) to get the same YAML. docs/methods.md.
#pragma once

#include "sim/strategies/method.h"

#include <filesystem>
#include <memory>

namespace fedhive::sim {

/// The method of a file. Each content is read once in a process.
///
/// .py      runs `python3 -m fedhive.method FILE` (FEDHIVE_PYTHON names another Python); .yaml, .yml and .json files are read directly
///
/// Throws   ConfigError, with file and line, for a file that cannot be read or is no method.
std::shared_ptr<const Method> load_method(const std::filesystem::path& file);

/// The method of the Python file `given`, whose only function Python runs in each round. place: "server" or "visit"; key: the config key that
/// names the file. Each content is read once in a process. Throws ConfigError as load_method().
std::shared_ptr<const Method> load_python(const std::filesystem::path& given, const std::string& place, const std::string& key);

/// A method called `name` without keys, whose only formula sets the gradient. Throws ConfigError.
std::shared_ptr<const Method> method_of_gradient(const std::string& formula, const std::string& name);

}  // namespace fedhive::sim
