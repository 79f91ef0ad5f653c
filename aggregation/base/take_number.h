// Numbers in text that the program wrote itself, read back one after the other.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace fedhive {

/// Reads a number at the front of `text`, and removes it and the `end` after it. False if there is none.
template <class Number>
bool take_number(std::string_view& text, char end, Number& number) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop == text.data() + text.size() || *stop != end) return false;
    text.remove_prefix(static_cast<std::size_t>(stop + 1 - text.data()));
    return true;
}

}  // namespace fedhive
