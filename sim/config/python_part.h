// Reads `python:` of a method's YAML, in which scripts/lib/fedhive/method.py describes the functions that Python runs in each round.
#pragma once

#include "sim/config/tree.h"
#include "sim/strategies/method.h"

#include <filesystem>
#include <string>

namespace fedhive::sim {

/// Sets method.rule and method.visit, except for what complete_python() sets. method.reports must be set.
void read_python(const YamlNode& python, Method& method);

/// Adds the method's file, its text and keys to both. key: the config key that names the file. The method's SHA-256 is that of the text.
void complete_python(Method& method, const std::string& key);

}  // namespace fedhive::sim
