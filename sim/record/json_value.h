// Values of JSON that was written by this program and may have been changed since: each is asked for by type, and a wrong one is named.
#pragma once

#include "aggregation/base/error.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace fedhive::sim {

/// "a whole number": what a T is called, and whether `value` is one.
template <typename T, typename Json>
const char* json_kind_unless(const Json& value) {
    if constexpr (std::is_same_v<T, bool>)
        return value.is_boolean() ? nullptr : "true or false";
    else if constexpr (std::is_unsigned_v<T>)
        return value.is_number_unsigned() ? nullptr : "a whole number of 0 or more";
    else if constexpr (std::is_integral_v<T>)
        return value.is_number_integer() ? nullptr : "a whole number";
    else if constexpr (std::is_floating_point_v<T>)
        return value.is_number() ? nullptr : "a number";
    else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        bool texts = value.is_array();
        for (const Json& one : value) texts = texts && one.is_string();
        return texts ? nullptr : "a list of texts";
    } else
        return value.is_string() ? nullptr : "a text";
}

/// The value under a key; nothing where there is none, or null. Throws ConfigError for one of another type.
template <typename T, typename Json>
std::optional<T> optional_value(const Json& object, const char* key) {
    const auto found = object.find(key);  // the end, where it is no object
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (const char* wanted = json_kind_unless<T>(*found))
        throw ConfigError(fmt::format("is damaged: its '{}' is of type {}, wanted is {}", key, found->type_name(), wanted));
    return found->template get<T>();
}

/// The same of one that has to be there.
template <typename T, typename Json>
T value_at(const Json& object, const char* key) {
    const auto value = optional_value<T>(object, key);
    if (!value) throw ConfigError(fmt::format("is damaged: it has no '{}'", key));
    return *value;
}

}  // namespace fedhive::sim
