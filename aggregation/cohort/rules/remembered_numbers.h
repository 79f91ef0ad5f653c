// Numbers that a rule remembers between rounds, as text for a checkpoint, each in the shortest form that is read back exactly.
#pragma once

#include "aggregation/base/take_number.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation {

/// "0.25,0.75,": each number and a comma.
inline std::string text_of(const std::vector<double>& numbers) {
    std::string text;
    for (const double number : numbers) text += fmt::format("{},", number);
    return text;
}

/// The numbers of such a text; empty if it is not one, or if one of them is not finite.
inline std::optional<std::vector<double>> numbers_in(std::string_view text) {
    std::vector<double> numbers;
    for (double number = 0.0; !text.empty(); numbers.push_back(number))
        if (!take_number(text, ',', number) || !std::isfinite(number)) return std::nullopt;
    return numbers;
}

}  // namespace fedhive::aggregation
