// Functions of the user's that Python runs: a rule over the updates of a round, @fh.server(python=True), and a client's whole visit,
// @fh.visit(python=True). A method file has them beside its formulas; strategy.rule and strategy.visit name a file with one. docs/methods.md.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/memory/memories.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// The name of the aggregator that such a rule stands for.
inline constexpr const char* kPythonRule = "python";

/// What a run's folder keeps of strategy.rule and of strategy.visit.
inline constexpr const char* kRuleSource = "rule.py";
inline constexpr const char* kVisitSource = "visit.py";

/// A number that comes up with an update.
struct ReportDoc {
    std::string name;
    std::string doc;
};

struct PythonCode {
    std::filesystem::path file;  // absolute
    std::string source;          // the file's text
    std::string sha256;          // of it
    std::string key;             // that names the file: "strategy.rule", "strategy.visit" or "strategy.file"
    std::string function;        // its name
    std::vector<KeySpec> keys;   // which the function gets as numbers
};

struct RuleFile : PythonCode {};

/// What a client keeps: set by each visit; before the first 0, or the model that it is sent.
struct KeptMemory {
    std::string name;
    aggregation::MemoryShape shape = aggregation::MemoryShape::Trainable;
    bool begins_as_model = false;
};

struct VisitFile : PythonCode {
    bool takes_model = false;  // as a module of PyTorch
    std::vector<KeptMemory> memory{};
    std::vector<ReportDoc> reports{};
};

/// {name: number} of the code's keys, as JSON text. values: complete.
std::string keys_as_json(const PythonCode& code, const Values& values);

}  // namespace fedhive::sim
