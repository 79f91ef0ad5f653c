// Reads the declarations of a method's YAML (method_file.h): keys and memories; with helpers for the other readers of a method.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/formulas/method_formulas.h"
#include "sim/config/tree.h"
#include "sim/strategies/method.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fedhive::sim {

/// Names that formulas of an example read; no key or memory may have them.
inline constexpr std::array<std::string_view, 4> kOfExamples{"logits", "z", "y", "counts"};

/// Throws ConfigError with the node's file and line.
[[noreturn]] void refuse(const YamlNode& node, const std::string& problem);

/// Refuses a node of another kind. what: as "a map".
void check_kind(const YamlNode& node, YamlNode::Kind kind, const char* what);

/// Refuses children of a map that are none of `known`.
void check_names(const YamlNode& map, std::span<const char* const> known);

/// The text of the child `name`; empty if there is none.
std::string word_at(const YamlNode& map, const char* name);

/// Whether the text is a letter or _, then letters, digits and _.
bool is_name(const std::string& text);

/// The text of the child `name`. Refuses one that is missing, too long or no name. what: such as "memory", for the message.
std::string name_in(const YamlNode& item, const char* what);

KeySpec key_of(const YamlNode& item);

/// A memory with `shape: clients`: a number of each client of the run, kept at the server. Null for a memory of another shape.
std::optional<aggregation::RememberedNumber> number_of_clients(const YamlNode& item);

/// Reads any other memory. If its first value is a formula of keys, the formula is stored in `method`.
aggregation::formulas::MethodMemory memory_of(const YamlNode& item, Method& method);

}  // namespace fedhive::sim
