// Splits a CSV line into cells. Commas separate cells; inside quotes a comma is text, and "" is one quote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fedhive {

struct CsvCells {
    std::vector<std::string> cells;  // at least one, perhaps empty; blanks are kept
    bool closed = true;              // false if a quote is open at the end of the line
};

inline CsvCells split_cells(std::string_view line) {
    CsvCells split{std::vector<std::string>(1)};
    for (std::size_t at = 0; at < line.size(); ++at) {
        const char c = line[at];
        if (c == '"' && !split.closed && at + 1 < line.size() && line[at + 1] == '"')
            split.cells.back() += line[++at];
        else if (c == '"')
            split.closed = !split.closed;
        else if (c == ',' && split.closed)
            split.cells.emplace_back();
        else
            split.cells.back() += c;
    }
    return split;
}

}  // namespace fedhive
