// Text in a cell of a Markdown table.
#pragma once

#include <algorithm>
#include <string>

namespace fedhive::sim {

/// The text as a cell of a table: bars are escaped, line ends become blanks.
inline std::string cell_text(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

}  // namespace fedhive::sim
