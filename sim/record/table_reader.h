// Reads a CSV table that this program wrote, row by row, with cells by column name.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "sim/record/table_cells.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Throws ConfigError naming file and line. Ignores a torn last line.
class TableReader {
public:
    explicit TableReader(std::filesystem::path file) : file_(std::move(file)), lines_(file_) {
        next();
        names_ = cells_;
    }

    /// Goes to the next whole line; false if there is none.
    bool next() {
        std::string line;
        if (!lines_.next(line) || !lines_.ended()) return false;
        ++line_;
        cells_ = cells_of(line);
        return true;
    }

    const std::vector<std::string>& columns() const { return names_; }

    const std::string& text(const std::string& column) const {
        const auto name = std::find(names_.begin(), names_.end(), column);
        if (name == names_.end() || cells_.size() != names_.size()) refuse(fmt::format("no value of column '{}'", column));
        return cells_[static_cast<std::size_t>(name - names_.begin())];
    }

    std::uint64_t number(const char* column, int base = 10) const {
        const std::string& value = text(column);
        std::uint64_t result = 0;
        if (!parse_cell(value, result, base)) refuse(fmt::format("{} '{}' is not a number", column, value));
        return result;
    }

    double real(const std::string& column) const {
        const std::string& value = text(column);
        double result = 0.0;
        if (!parse_cell(value, result)) refuse(fmt::format("{} '{}' is not a number", column, value));
        return result;
    }

    [[noreturn]] void refuse(const std::string& problem) const {
        throw ConfigError(fmt::format("{}:{}: {}", file_.string(), line_, problem));
    }

private:
    std::filesystem::path file_;
    LineReader lines_;
    std::vector<std::string> names_;
    std::vector<std::string> cells_;
    int line_ = 0;
};

}  // namespace fedhive::sim
