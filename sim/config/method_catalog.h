// The catalog of methods: all that papers compare and fedhive runs, by purpose, with the config lines that choose it. Most entries come from
// other catalogs (strategies, method files, aggregators, samplers, steps of `upload`, attacks, modes).
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/base/words.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// What a method is for.
enum class MethodFamily {
    Optimisation,
    Losses,
    Personal,
    Fairness,
    Selection,
    Robust,
    Attacks,
    Privacy,
    Compression,
    Modes,
};
constexpr auto all_words(MethodFamily) {
    return std::array{"optimisation", "losses",  "personal", "fairness",    "selection",
                      "robust",       "attacks", "privacy",  "compression", "modes"};
}

struct CatalogedMethod {
    std::string name{};  // two entries may have the same name, such as a step of `upload` and a method file
    MethodFamily family = MethodFamily::Optimisation;
    std::string where{};               // the key that selects it: "strategy.name", "upload"
    std::string config{};              // the config lines that choose it: "upload: [{name: terngrad}]"
    std::string says{};                // its description and source; a line or more
    std::vector<std::string> needs{};  // beyond plain averaging: "a second gradient", "client memory"
    std::vector<KeySpec> keys{};       // empty for a file, which has its own
    std::filesystem::path file{};      // of a method file; else empty
};

/// All methods, in the order of families, then of the keys that select them. Throws Fault for a strategy or a file without a family.
const std::vector<CatalogedMethod>& method_catalog();

/// The methods of that name, upper or lower case and - or _, or whose other name it is. If there is none, throws ConfigError that says why
/// fedhive does not have the method (missing_methods.h), or gives the nearest name.
std::vector<CatalogedMethod> methods_called(const std::string& name);

}  // namespace fedhive::sim
