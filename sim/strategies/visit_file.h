// A client's visit from a file, strategy.visit: Python code in place of local training. docs/methods.md.
#pragma once

#include "aggregation/memory/memories.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// What a run's folder keeps of it.
inline constexpr const char* kVisitSource = "visit.py";

struct VisitFile {
    std::filesystem::path file;  // absolute
    std::string source;          // the file's text
    std::string sha256;          // of it
    bool takes_model = false;    // as a module of PyTorch
    /// What a client keeps, by name: set by each visit, 0 before the first.
    std::vector<std::pair<std::string, aggregation::MemoryShape>> memory{};
};

}  // namespace fedhive::sim
