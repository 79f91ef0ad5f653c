// Every key a config can have, by its path. Private to sim/config.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fedhive::sim {

enum class KeyKind { Integer, Number, Other };

/// Those included that apply to other choices only ("strategy.proximal_mu"); a list of maps is one key ("faults").
const std::map<std::string, KeyKind>& run_keys();

/// The choices of those that have some, of a list's items as well: "strategy.name", "upload.name".
const std::map<std::string, std::vector<std::string>>& run_choices();

/// Whether `path` is a key of a config or a section of it.
bool is_run_key_or_section(const std::string& path);

/// "a.b" lies in "a.b" and in "a".
bool lies_in(const std::string& path, const std::string& section);

}  // namespace fedhive::sim
