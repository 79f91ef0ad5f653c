// What is wrong with a text that is no YAML, in words that say what to write instead. Private to sim/config.
#pragma once

#include <string>

namespace fedhive::sim {

/// From 1; 0: not known.
struct TextPlace {
    int line = 0;
    int column = 0;
};

/// "not valid YAML: illegal map value; keys of one section begin …": yaml-cpp's message and what is usually behind it. A bracket or quote that
/// was never closed is named with its line.
std::string syntax_problem(const std::string& message, const std::string& text, bool has_lines);

/// The line itself, with its number, and below it a ^ at the column.
std::string excerpt(const std::string& text, TextPlace place);

}  // namespace fedhive::sim
