// Text of bounded length inside shared memory, where a std::string cannot live.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace fedhive::clients {

template <std::size_t Capacity>
struct FixedText {
    std::array<char, Capacity> characters{};

    /// Keeps the first Capacity - 1 characters.
    void set(std::string_view text) {
        characters.fill('\0');
        std::copy_n(text.data(), std::min(text.size(), Capacity - 1), characters.data());
    }

    bool empty() const { return characters.front() == '\0'; }

    /// Ends at the first NUL, or at the capacity if a writer died in between.
    std::string get() const { return {characters.data(), std::find(characters.begin(), characters.end(), '\0')}; }
};

}  // namespace fedhive::clients
