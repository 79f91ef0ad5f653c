// The catalog of methods: everything that papers compare and fedhive runs, by purpose, with the config lines that choose it. Most
// entries come from other catalogs (strategies, method files, aggregators, samplers, steps of `upload`, attacks, modes).
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
    std::string name{};  // two places may have the same, such as a step of `upload` and a method file
    MethodFamily family = MethodFamily::Optimisation;
    std::string where{};               // "strategy.name", "upload"; the key that takes it
    std::string config{};              // what a config says: "upload: [{name: terngrad}]"
    std::string says{};                // what it does, and its source; a line or more
    std::vector<std::string> needs{};  // beyond plain averaging: "a second gradient", "client memory"
    std::vector<KeySpec> keys{};       // empty for a file, which has its own
    std::filesystem::path file{};      // of a method file; else empty
};

/// In the order of families, then of places. Throws Fault for a strategy or a file without a family.
const std::vector<CatalogedMethod>& method_catalog();

/// Those of that name, in any case and with - for _, or of another name that a method has. Throws ConfigError if there is none, with why
/// fedhive does not have it (missing_methods.h), or the nearest name.
std::vector<CatalogedMethod> methods_called(const std::string& name);

}  // namespace fedhive::sim
