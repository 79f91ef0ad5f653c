// A line of a CSV table that this program wrote, in cells: none of them is quoted, none has a comma in it.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fedhive::sim {

/// At least one; empty ones count.
inline std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells;
    for (std::size_t end = 0; (end = line.find(',')) != std::string_view::npos; line.remove_prefix(end + 1))
        cells.emplace_back(line.substr(0, end));
    cells.emplace_back(line);
    return cells;
}

/// False where the cell is no such number, or has something behind it. `base` of an integer.
template <class Number>
bool parse_cell(std::string_view cell, Number& value, [[maybe_unused]] int base = 10) {
    std::from_chars_result read{};
    if constexpr (std::is_integral_v<Number>)
        read = std::from_chars(cell.data(), cell.data() + cell.size(), value, base);
    else
        read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    return read.ec == std::errc() && read.ptr == cell.data() + cell.size();
}

/// An empty cell is a value that is not there.
inline bool parse_cell(std::string_view cell, std::optional<double>& value) {
    double number = 0.0;
    if (cell.empty()) return true;
    if (!parse_cell(cell, number)) return false;
    value = number;
    return true;
}

}  // namespace fedhive::sim
