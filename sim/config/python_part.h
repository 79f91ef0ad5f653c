// `python:` of a method's box: what fedhive/method.py says of the functions that Python runs.
#pragma once

#include "sim/config/tree.h"
#include "sim/strategies/method.h"

#include <filesystem>
#include <string>

namespace fedhive::sim {

/// Sets method.rule and method.visit, as far as the box tells; method.reports are known.
void read_python(const YamlNode& python, Method& method);

/// Completes both with the method's file, its text and keys. key: that names the file. The text decides the method's SHA-256.
void complete_python(Method& method, const std::string& key);

}  // namespace fedhive::sim
