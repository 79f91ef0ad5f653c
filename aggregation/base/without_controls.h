// Text from a user's file or command line, for a message.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fedhive {

/// The text with "?" in place of each ASCII control character, which could end a line or move a terminal's cursor.
inline std::string without_controls(std::string_view text) {
    std::string result(text);
    std::replace_if(
        result.begin(), result.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
    return result;
}

}  // namespace fedhive
