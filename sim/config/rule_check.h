// Reads a rule's file and has Python look at it, before a run begins.
#pragma once

#include "sim/strategies/rule_file.h"

#include <filesystem>
#include <memory>

namespace fedhive::sim {

/// Throws ConfigError for a file that cannot be read, that Python refuses, or that has no function `aggregate`.
std::shared_ptr<const RuleFile> load_rule(const std::filesystem::path& file);

}  // namespace fedhive::sim
