// Result tables as declared columns: name, unit and meaning of a column stand beside its value. Header, rows, documentation and
// the schema for other programs follow from them.
//
//   constexpr Column<Sample> kColumns[]{{"round", "from 1", "turn of the loop", [](const Sample& s) { return s.round; }},
//                                       {"wall_s", "s", "the whole round", [](const Sample& s) { return Fixed<6>{s.wall_s}; }}};
//   Table<Sample> table;
//   table.add(kColumns);
//   table.header();             // "round,wall_s\n"
//   table.append(rows, sample); // "3,0.250000\n"
#pragma once

#include "sim/record/table_cells.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// Whole rows, as text.
using RowText = fmt::memory_buffer;
inline std::string_view text_of(const RowText& rows) { return {rows.data(), rows.size()}; }

/// A number with `decimals` digits after the point, 6 or 9.
template <int decimals>
struct Fixed {
    double value = 0.0;
};

/// 64 bits as 16 hexadecimal digits.
struct Hex {
    std::uint64_t value = 0;
};

/// A name or a word; quoted if it has a comma or a quote.
inline void write_cell(RowText& rows, std::string_view text) {
    if (text.empty()) return;
    const std::string cell = cell_of(text);
    rows.append(cell.data(), cell.data() + cell.size());
}

template <class Number>
requires std::integral<Number> || std::floating_point<Number>
void write_cell(RowText& rows, Number value) { fmt::format_to(fmt::appender(rows), FMT_COMPILE("{}"), value); }

template <int decimals>
void write_cell(RowText& rows, Fixed<decimals> number) {
    static_assert(decimals == 6 || decimals == 9);
    if constexpr (decimals == 6)
        fmt::format_to(fmt::appender(rows), FMT_COMPILE("{:.6f}"), number.value);
    else
        fmt::format_to(fmt::appender(rows), FMT_COMPILE("{:.9f}"), number.value);
}

inline void write_cell(RowText& rows, Hex bits) { fmt::format_to(fmt::appender(rows), FMT_COMPILE("{:016x}"), bits.value); }

/// Nothing if there is no value.
template <class Value>
void write_cell(RowText& rows, const std::optional<Value>& value) {
    if (value) write_cell(rows, *value);
}

/// Whether cells of such values are texts to a reader: some hexadecimal values look like numbers.
template <class Value>
inline constexpr bool kIsText =
    std::is_convertible_v<Value, std::string_view> || std::is_same_v<Value, Hex> || std::is_same_v<Value, std::optional<Hex>>;

/// A column without its values.
struct ColumnText {
    std::string name;
    std::string unit;     // empty: none
    std::string meaning;  // Markdown, links relative to results/; empty: described with the column before it
    bool is_text = false;
};

/// A column of a row for each `Record`. `get`: a captureless lambda that returns the cell's value.
template <class Record>
struct Column {
    template <class Get>
    constexpr Column(std::string_view column, std::string_view unit_of_it, std::string_view what_it_means, Get /*get*/)
        : name(column),
          unit(unit_of_it),
          meaning(what_it_means),
          is_text(kIsText<std::invoke_result_t<Get, const Record&>>),
          write([](RowText& rows, const Record& record) { write_cell(rows, Get{}(record)); }) {}

    std::string_view name;
    std::string_view unit;
    std::string_view meaning;
    bool is_text;
    void (*write)(RowText& rows, const Record& record);
};

template <class Record>
class Table {
public:
    /// Appends columns that are known when the program is compiled.
    void add(std::span<const Column<Record>> columns) {
        for (const Column<Record>& column : columns) {
            columns_.push_back(
                {std::string(column.name), std::string(column.unit), std::string(column.meaning), column.is_text});
            writers_.push_back(column.write);
        }
    }

    /// Appends a column that depends on the task or the data. `get`: returns the cell's value.
    template <class Get>
    void add(std::string name, std::string unit, std::string meaning, Get get) {
        columns_.push_back(
            {std::move(name), std::move(unit), std::move(meaning), kIsText<std::invoke_result_t<Get, const Record&>>});
        writers_.push_back([get = std::move(get)](RowText& rows, const Record& record) { write_cell(rows, get(record)); });
    }

    const std::vector<ColumnText>& columns() const { return columns_; }

    /// The first line, with its end.
    std::string header() const {
        std::string line;
        for (const ColumnText& column : columns_) line += (line.empty() ? "" : ",") + column.name;
        return line + "\n";
    }

    /// Appends the record's row, with its end.
    void append(RowText& rows, const Record& record) const {
        for (std::size_t i = 0; i < writers_.size(); ++i) {
            if (i > 0) rows.push_back(',');
            writers_[i](rows, record);
        }
        rows.push_back('\n');
    }

private:
    std::vector<ColumnText> columns_;
    std::vector<std::function<void(RowText&, const Record&)>> writers_;
};

}  // namespace fedhive::sim
