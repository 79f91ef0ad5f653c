// What a method's YAML declares (method_file.h): keys and memories; and what its readers share.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/formulas/method_formulas.h"
#include "sim/config/tree.h"
#include "sim/strategies/method.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace fedhive::sim {

/// What a loss reads; nothing else has these names.
inline constexpr std::array<std::string_view, 4> kOfExamples{"logits", "z", "y", "counts"};

/// Throws ConfigError with the node's file and line.
[[noreturn]] void refuse(const YamlNode& node, const std::string& problem);

/// Refuses a node of another kind. what: as "a map".
void check_kind(const YamlNode& node, YamlNode::Kind kind, const char* what);

/// Refuses children of a map that are none of `known`.
void check_names(const YamlNode& map, std::span<const char* const> known);

/// The text of the child; empty if there is none.
std::string word_at(const YamlNode& map, const char* name);

/// A letter or _, then letters, digits and _.
bool is_name(const std::string& text);

/// The child `name`. Refuses one that is missing, too long or no name. what: as "memory".
std::string name_in(const YamlNode& item, const char* what);

KeySpec key_of(const YamlNode& item);

/// A first value that is a formula of keys goes to `method`.
aggregation::formulas::MethodMemory memory_of(const YamlNode& item, Method& method);

}  // namespace fedhive::sim
