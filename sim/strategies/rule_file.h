// A rule from a file, strategy.rule: Python code that combines a round's updates. docs/methods.md.
#pragma once

#include <filesystem>
#include <string>

namespace fedhive::sim {

/// The name of the aggregator that such a rule stands for.
inline constexpr const char* kPythonRule = "python";

/// What a run's folder keeps of it.
inline constexpr const char* kRuleSource = "rule.py";

struct RuleFile {
    std::filesystem::path file;  // absolute
    std::string source;          // the file's text
    std::string sha256;          // of it
};

}  // namespace fedhive::sim
