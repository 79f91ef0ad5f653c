// What samplers remember, as text: reading it back.
#pragma once

#include <charconv>
#include <string_view>

namespace fedhive::sim {

/// Reads a number at the front of `text`, and takes it and the `end` behind it off. False if there is none.
template <class Number>
bool take_number(std::string_view& text, char end, Number& number) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop == text.data() + text.size() || *stop != end) return false;
    text.remove_prefix(static_cast<std::size_t>(stop + 1 - text.data()));
    return true;
}

}  // namespace fedhive::sim
