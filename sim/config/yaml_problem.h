// Messages for a text that is not YAML, with what to write instead. Private to sim/config.
#pragma once

#include <string>

namespace fedhive::sim {

/// A line and a column, from 1; 0: unknown.
struct TextPlace {
    int line = 0;
    int column = 0;
};

/// "not valid YAML: illegal map value; keys of one section begin …": yaml-cpp's message and its usual cause. Names the line of
/// a bracket or quote that was never closed.
std::string syntax_problem(const std::string& message, const std::string& text, bool has_lines);

/// The line, with its number, and a ^ below the column.
std::string excerpt(const std::string& text, TextPlace place);

}  // namespace fedhive::sim
