// Reads a visit's file and has Python look at it, before a run begins.
#pragma once

#include "sim/strategies/visit_file.h"

#include <filesystem>
#include <memory>

namespace fedhive::sim {

/// Throws ConfigError for a file that cannot be read, that Python refuses, or that has no function `visit`. What Python said of a text
/// at a place is remembered, so that the runs of a sweep do not ask again.
std::shared_ptr<const VisitFile> load_visit(const std::filesystem::path& file);

}  // namespace fedhive::sim
