// Cells of a CSV line that this program wrote: numbers, words, and names, which are quoted if they have a comma or a quote.
#pragma once

#include "aggregation/base/csv_cells.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fedhive::sim {

/// The line's cells, at least one, perhaps empty. An unclosed quote ends with the line.
inline std::vector<std::string> cells_of(std::string_view line) { return split_cells(line).cells; }

/// A name as a cell.
inline std::string cell_of(std::string_view name) {
    if (name.find_first_of(",\"") == std::string_view::npos) return std::string(name);
    std::string cell = "\"";
    for (const char c : name) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell + '"';
}

/// False if the cell is not exactly one such number. `base`: for integers.
template <class Number>
bool parse_cell(std::string_view cell, Number& value, [[maybe_unused]] int base = 10) {
    std::from_chars_result read{};
    if constexpr (std::is_integral_v<Number>)
        read = std::from_chars(cell.data(), cell.data() + cell.size(), value, base);
    else
        read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    return read.ec == std::errc() && read.ptr == cell.data() + cell.size();
}

/// An empty cell leaves the value empty.
inline bool parse_cell(std::string_view cell, std::optional<double>& value) {
    double number = 0.0;
    if (cell.empty()) return true;
    if (!parse_cell(cell, number)) return false;
    value = number;
    return true;
}

}  // namespace fedhive::sim
