// What samplers remember of clients, as text: "3:0.5,7:1.25,".
#pragma once

#include "aggregation/base/take_number.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fedhive::sim {

/// A number for each client that has one.
using ByClient = std::map<std::uint32_t, double>;

inline std::string text_of(const ByClient& numbers) {
    std::string text;
    for (const auto& [client, number] : numbers) text += fmt::format("{}:{},", client, number);
    return text;
}

/// The numbers of such a text; empty if it is not one, or names a client from num_clients on.
inline std::optional<ByClient> by_client_in(std::string_view text, std::uint64_t num_clients) {
    ByClient numbers;
    while (!text.empty()) {
        std::uint32_t client = 0;
        double number = 0.0;
        if (!take_number(text, ':', client) || !take_number(text, ',', number) || client >= num_clients) return std::nullopt;
        numbers[client] = number;
    }
    return numbers;
}

}  // namespace fedhive::sim
