#include "sim/config/method_declarations.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/class_tables.h"
#include "sim/config/scalars.h"
#include "sim/config/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace fedhive::sim {

using aggregation::MemoryOwner;
using aggregation::formulas::MethodMemory;

namespace {

bool flag_of(const YamlNode& map, const char* name) {
    const YamlNode* node = map.find(name);
    if (node == nullptr) return false;
    if (node->text != "true" && node->text != "false") refuse(*node, fmt::format("{}: expected true or false", name));
    return node->text == "true";
}

std::optional<double> number_of(const YamlNode& map, const char* name) {
    const YamlNode* node = map.find(name);
    if (node == nullptr) return std::nullopt;
    const Number number = parse_number(node->text);
    if (!number.valid) refuse(*node, fmt::format("{}: expected a number, found '{}'", name, node->text));
    return number.value;
}

/// A memory by class begins as 0, and has a part in what travels or in a client's record.
void check_by_class(const YamlNode& item, const MethodMemory& memory, const std::string& first) {
    if (memory.owner == MemoryOwner::Server && !memory.down)
        refuse(item, fmt::format("memory '{}': a memory by class of the server must be sent; add down: true", memory.name));
    if (memory.owner == MemoryOwner::Visit && !memory.up)
        refuse(item, fmt::format("memory '{}': a memory by class of a visit must be sent; add up: true", memory.name));
    if (!first.empty() && first != "0")
        refuse(item, fmt::format("memory '{}': first: '{}'; a memory by class begins as 0", memory.name, first));
    if (std::ranges::find(kOfExamples, memory.name) != kOfExamples.end())
        refuse(item, fmt::format("memory '{}' has a name that a loss reads; choose another", memory.name));
}

/// A number is the server's, and goes down, or a client's.
void check_number(const YamlNode& item, MethodMemory& memory, const std::string& first) {
    if (memory.owner == MemoryOwner::Visit)
        refuse(item,
               fmt::format("memory '{}': a number that a visit sends is a report; allowed with shape: number: server, client",
                           memory.name));
    if (first == "w_t" || first == "drawn")
        refuse(item, fmt::format("memory '{}': first: '{}'; with shape: number, allowed: a number, or a formula of keys",
                                 memory.name, first));
    if (std::ranges::find(kOfExamples, memory.name) != kOfExamples.end())
        refuse(item, fmt::format("memory '{}' has a name that a loss reads; choose another", memory.name));
    memory.down = memory.owner == MemoryOwner::Server;
}

}  // namespace

void refuse(const YamlNode& node, const std::string& problem) {
    throw ConfigError(fmt::format("{}: {}", node.where(), problem));
}

void check_kind(const YamlNode& node, YamlNode::Kind kind, const char* what) {
    if (node.kind != kind) refuse(node, fmt::format("{}: expected {}", node.key, what));
}

void check_names(const YamlNode& map, std::span<const char* const> known) {
    const std::vector<std::string> names(known.begin(), known.end());
    for (const YamlNode& child : map.children) {
        if (std::find(names.begin(), names.end(), child.key) != names.end()) continue;
        const std::string near = nearest_word(child.key, names);
        refuse(child, fmt::format("'{}' is not a key of {}; {}", child.key, map.key.empty() ? "a method" : map.key,
                                  near.empty() ? fmt::format("allowed: {}", fmt::join(names, ", "))
                                               : fmt::format("did you mean '{}'?", near)));
    }
}

std::string word_at(const YamlNode& map, const char* name) {
    const YamlNode* node = map.find(name);
    return node != nullptr ? node->text : "";
}

bool is_name(const std::string& text) {
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
}

std::string name_in(const YamlNode& item, const char* what) {
    check_kind(item, YamlNode::Kind::Map, "a map with a name");
    const YamlNode* name = item.find("name");
    if (name == nullptr || name->text.empty()) refuse(item, fmt::format("a {} needs a name", what));
    if (!is_name(name->text) || name->text.size() > aggregation::Memory::kLongestName)
        refuse(*name, fmt::format("'{}' is not a name; allowed: a letter, then letters, digits and _, {} at most", name->text,
                                  aggregation::Memory::kLongestName));
    return name->text;
}

KeySpec key_of(const YamlNode& item) {
    constexpr std::array kOfSection{
        "name",         "file",      "file_sha256", "gradient",        "rule",       "rule_sha256", "visit",
        "visit_sha256", "weighting", "local",       "pre_aggregation", "aggregator", "server"};
    const std::string name = name_in(item, "key");
    if (std::ranges::find(kOfSection, name) != kOfSection.end())
        refuse(item, fmt::format("key '{}': the section strategy has a key of this name; choose another", name));
    check_names(item, std::array{"name", "default", "least", "above", "most", "below", "integer", "doc"});
    KeySpec key{.name = name, .default_value = 0.0, .doc = word_at(item, "doc")};
    if (const auto low = number_of(item, "least")) key.range.low = *low;
    if (const auto low = number_of(item, "above")) std::tie(key.range.low, key.range.low_excluded) = std::pair(*low, true);
    if (const auto high = number_of(item, "most")) key.range.high = *high;
    if (const auto high = number_of(item, "below")) std::tie(key.range.high, key.range.high_excluded) = std::pair(*high, true);
    const std::optional<double> value = number_of(item, "default");
    if (!value) refuse(item, fmt::format("key '{}' has no default", name));
    if (!key.range.contains(*value))
        refuse(item, fmt::format("key '{}': its default {} is out of range; allowed: {}", name, *value, key.range.text()));
    if (flag_of(item, "integer"))
        key.default_value = static_cast<std::int64_t>(*value);
    else
        key.default_value = *value;
    if (key.doc.empty()) key.doc = "Of strategy.file.";
    return key;
}

std::optional<aggregation::RememberedNumber> number_of_clients(const YamlNode& item) {
    if (word_at(item, "shape") != "clients") return std::nullopt;
    check_names(item, std::array{"name", "owner", "first", "shape", "simplex"});
    aggregation::RememberedNumber number{.name = name_in(item, "memory"), .on_simplex = flag_of(item, "simplex")};
    if (const std::string owner = word_at(item, "owner"); owner != "server")
        refuse(item, fmt::format("memory '{}': owner: '{}'; with shape: clients, allowed: server", number.name, owner));
    number.first = number_of(item, "first").value_or(0.0);
    if (number.on_simplex && number.first != 0.0)
        refuse(item, fmt::format("memory '{}': first: {}; with simplex: true each number begins as 1 / clients", number.name,
                                 number.first));
    return number;
}

MethodMemory memory_of(const YamlNode& item, Method& method) {
    MethodMemory memory;
    memory.name = name_in(item, "memory");
    check_names(item, std::array{"name", "owner", "first", "down", "up", "shape"});
    const std::string owner = word_at(item, "owner"), first = word_at(item, "first");
    if (owner != "server" && owner != "client" && owner != "visit")
        refuse(item, fmt::format("memory '{}': owner: '{}'; allowed: server, client, visit", memory.name, owner));
    memory.owner = owner == "server" ? MemoryOwner::Server : owner == "client" ? MemoryOwner::Client : MemoryOwner::Visit;
    memory.down = flag_of(item, "down");
    memory.up = flag_of(item, "up");
    if (memory.down && memory.owner != MemoryOwner::Server)
        refuse(item, fmt::format("memory '{}': down: allowed only with owner: server", memory.name));
    if (memory.up && memory.owner != MemoryOwner::Visit)
        refuse(item, fmt::format("memory '{}': up: allowed only with owner: visit", memory.name));
    if (const YamlNode* shape = item.find("shape"); shape != nullptr && shape->text != "model") {
        const auto found = aggregation::formulas::shape_named(shape->text);
        if (!found)
            refuse(*shape, fmt::format("memory '{}': shape: '{}'; allowed: model, features, logits, classes, number, clients",
                                       memory.name, shape->text));
        memory.shape = *found;
        memory.is_number() ? check_number(item, memory, first) : check_by_class(item, memory, first);
    }
    if (first.empty() || first == "0") return memory;
    if (memory.is_number()) {
        method.first[memory.name] = first;
        return memory;
    }
    if (first == "w_t" && memory.owner != MemoryOwner::Server) {
        memory.begins_as_model = true;
    } else if (first == "drawn" && memory.down) {
        memory.drawn = true;
    } else if (memory.owner == MemoryOwner::Server && !memory.down && first != "w_t") {
        method.first[memory.name] = first;
    } else {
        refuse(item, fmt::format("memory '{}': first: '{}'; allowed: 0; with owner client or visit also w_t; with owner "
                                 "server also drawn if down: true, else a formula of keys",
                                 memory.name, first));
    }
    return memory;
}

}  // namespace fedhive::sim
