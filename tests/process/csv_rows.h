// Reads a run's tables by column name.
#pragma once

#include "tests/process/run_process.h"

#include <doctest/doctest.h>

#include <map>

namespace fedhive::testing {

inline std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream(line + ",");
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
}

/// Rows as maps from column to value; each row must have one cell per column.
inline std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& file) {
    const std::vector<std::string> lines = read_lines(file);
    REQUIRE(!lines.empty());
    const std::vector<std::string> names = cells_of(lines.front());
    std::vector<std::map<std::string, std::string>> rows(lines.size() - 1);
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::vector<std::string> cells = cells_of(lines[row + 1]);
        REQUIRE(cells.size() == names.size());
        for (std::size_t i = 0; i < names.size(); ++i) rows[row][names[i]] = cells[i];
    }
    return rows;
}

}  // namespace fedhive::testing
