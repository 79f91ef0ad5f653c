// A closed choice is an enum. Its words, in configs, files and messages, are written once, in a function beside the enum, in the
// order of its values, which count from 0:
//
//   enum class Device { Auto, Cpu, Cuda };
//   constexpr auto all_words(Device) { return std::array{"auto", "cpu", "cuda"}; }
#pragma once

#include "aggregation/base/error.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fedhive {

/// An enum with words.
template <class Enum>
concept Worded = std::is_enum_v<Enum> && requires {
    all_words(Enum()).size();
};

/// Throws Fault for a number that is no value of the enum.
template <Worded Enum>
std::string word_of(Enum value) {
    static constexpr auto kWords = all_words(Enum());
    const auto index = static_cast<std::size_t>(value);
    FEDHIVE_CHECK(index < kWords.size(), "{} is no value of the enum with '{}' … '{}'", index, kWords.front(), kWords.back());
    return kWords[index];
}

/// All words, in the order of the values.
template <Worded Enum>
std::vector<std::string> words_of() {
    static constexpr auto kWords = all_words(Enum());
    return {kWords.begin(), kWords.end()};
}

/// The value of a word; empty for a word of no value.
template <Worded Enum>
std::optional<Enum> from_word(std::string_view word) {
    static constexpr auto kWords = all_words(Enum());
    const auto* const found = std::find(kWords.begin(), kWords.end(), word);
    return found == kWords.end() ? std::nullopt : std::optional(static_cast<Enum>(found - kWords.begin()));
}

}  // namespace fedhive
