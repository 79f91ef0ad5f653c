// A method from a file, strategy.file: the formulas of a paper's box in place of a local rule, a weight rule or a server optimiser.
// docs/methods.md.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/formulas/method_formulas.h"
#include "sim/strategies/local_rule.h"
#include "sim/strategies/python_code.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

/// The name of the parts that a method stands for.
inline constexpr const char* kFormula = "formula";
inline constexpr const char* kFormulaWithRoot = "formula_with_root";  // weights that read the root client's update

/// What a run's folder keeps of its method: what was read, and the Python that it was traced from.
inline constexpr const char* kMethodBox = "method.yaml";
inline constexpr const char* kMethodSource = "method.py";
inline std::vector<std::string> method_files() { return {kMethodBox, kMethodSource}; }
struct Method;
/// The one of them that a run begins again with: the file itself if Python runs a part of it.
const char* kept_as(const Method& method);
/// The same of a run's folder, which need not have one.
std::filesystem::path kept_method(const std::filesystem::path& folder);

struct Method {
    std::string name;            // the file's, without its ending
    std::string doc;             // one line
    std::filesystem::path file;  // absolute
    std::string source;          // the file's text
    std::string box;             // the same as YAML: what a .py file was traced to
    std::string sha256;  // of what decides results: the text of its formulas, memories and keys; of the file if Python runs
    bool equal_weights = false;  // its server's formulas hold for equal weights
    std::vector<KeySpec> keys;
    std::vector<ReportDoc> reports;
    aggregation::formulas::MethodFormulas formulas;  // keys with their defaults
    std::map<std::string, std::string> first;        // memory -> its first value, a formula of keys
    LocalRuleSpec client;                            // what its visits need of mode and memory
    std::shared_ptr<RuleFile> rule{};                // @fh.server(python=True); null: none
    std::shared_ptr<VisitFile> visit{};              // @fh.visit(python=True); null: none

    /// The formulas with these values of its keys.
    aggregation::formulas::MethodFormulas with(const Values& values) const;

    bool has(aggregation::formulas::Place place) const { return formulas.has(place); }
    /// Python runs a part of it.
    bool in_python() const { return rule != nullptr || visit != nullptr; }
    /// A visit depends on its own client beyond its batches, so that a client trains alone in its slot.
    bool trains_alone() const;
};

/// Completes `method.client` from its formulas and checks these: throws aggregation::formulas::FormulaError, for a line of `place`.
void settle(Method& method, aggregation::formulas::Place& place);

}  // namespace fedhive::sim
