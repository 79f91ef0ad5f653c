// All keys that a config can have, by path. Private to sim/config.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fedhive::sim {

enum class KeyKind { Integer, Number, Other };

/// All keys, also those of choices that a config does not make ("strategy.proximal_mu"); a list of maps is one key ("faults").
const std::map<std::string, KeyKind>& run_keys();

/// The allowed words of each key that has some, also in a list's items: "strategy.name", "upload.name".
const std::map<std::string, std::vector<std::string>>& run_choices();

/// True if `path` is a key or a section of a config.
bool is_run_key_or_section(const std::string& path);

/// True if `path` is `section` or below it: "a.b" is in "a.b" and in "a".
bool lies_in(const std::string& path, const std::string& section);

}  // namespace fedhive::sim
