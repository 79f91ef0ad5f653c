#include "sim/config/mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace fedhive::sim {

void Mistakes::add(const std::string& text) {
    Mistake mistake{"", 0, text};
    const std::size_t end = text.find(": ");
    const std::size_t colon = end == std::string::npos ? end : text.rfind(':', end - 1);
    if (colon != std::string::npos && colon < end) {
        const auto [stop, error] = std::from_chars(text.data() + colon + 1, text.data() + end, mistake.line);
        if (error != std::errc() || stop != text.data() + end) mistake.line = 0;
        mistake.file = text.substr(0, colon);
    }
    // A mistake is one line, even if a key has a line break; other control characters are escaped when it is printed.
    std::replace_if(
        mistake.text.begin(), mistake.text.end(), [](char c) { return c == '\n' || c == '\r'; }, '?');
    const auto same = [&](const Mistake& other) { return other.text == mistake.text; };
    if (std::none_of(all_.begin(), all_.end(), same)) all_.push_back(std::move(mistake));
}

void Mistakes::add_lines(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) add(line);
}

std::string Mistakes::text() const {
    std::vector<Mistake> sorted = all_;
    const auto first_of_file = [&](const Mistake& one) {
        return std::find_if(all_.begin(), all_.end(), [&](const Mistake& other) { return other.file == one.file; }) -
               all_.begin();
    };
    std::stable_sort(sorted.begin(), sorted.end(), [&](const Mistake& left, const Mistake& right) {
        if ((left.line == 0) != (right.line == 0)) return right.line == 0;
        if (left.line == 0 || left.file == right.file) return left.line < right.line;
        return first_of_file(left) < first_of_file(right);
    });
    std::string text;
    for (std::size_t i = 0; i < std::min(sorted.size(), kMostShown); ++i) text += (i == 0 ? "" : "\n") + sorted[i].text;
    if (sorted.size() > kMostShown) text += fmt::format("\nand {} more", sorted.size() - kMostShown);
    return text;
}

}  // namespace fedhive::sim
