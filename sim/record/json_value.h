// Typed access to JSON that this program wrote and that may have been changed since; errors name the wrong value.
#pragma once

#include "aggregation/base/error.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace fedhive::sim {

/// nullptr if `value` is a T; else what a T is called, such as "a whole number".
template <typename T, typename Json>
const char* json_kind_unless(const Json& value) {
    if constexpr (std::is_same_v<T, bool>)
        return value.is_boolean() ? nullptr : "true or false";
    else if constexpr (std::is_unsigned_v<T>)
        return value.is_number_unsigned() ? nullptr : "an integer of 0 or more";
    else if constexpr (std::is_integral_v<T>)
        return value.is_number_integer() ? nullptr : "an integer";
    else if constexpr (std::is_floating_point_v<T>)
        return value.is_number() ? nullptr : "a number";
    else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        bool texts = value.is_array();
        for (const Json& one : value) texts = texts && one.is_string();
        return texts ? nullptr : "a list of texts";
    } else
        return value.is_string() ? nullptr : "a text";
}

/// The value under a key; empty if missing or null. Throws ConfigError for a value of another type.
template <typename T, typename Json>
std::optional<T> optional_value(const Json& object, const char* key) {
    const auto found = object.find(key);  // end() if `object` is no object
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (const char* wanted = json_kind_unless<T>(*found))
        throw ConfigError(fmt::format("is damaged: its '{}' is of type {}, expected {}", key, found->type_name(), wanted));
    return found->template get<T>();
}

/// The same for a required value.
template <typename T, typename Json>
T value_at(const Json& object, const char* key) {
    const auto value = optional_value<T>(object, key);
    if (!value) throw ConfigError(fmt::format("is damaged: it has no '{}'", key));
    return *value;
}

}  // namespace fedhive::sim
