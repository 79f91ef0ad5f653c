#include "sim/run/confusion_table.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace fedhive::sim {

namespace {

constexpr std::string_view kColumns = "round,label,predicted,targets\n";

}  // namespace

std::string confusion_table(std::int64_t round, std::span<const double> counts) {
    const auto classes = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(counts.size()))));
    std::string text(kColumns);
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] > 0.0) text += fmt::format("{},{},{},{:.0f}\n", round, i / classes, i % classes, counts[i]);
    return text;
}

std::int64_t round_of_confusion_table(std::string_view text) {
    if (!text.starts_with(kColumns)) return 0;
    text.remove_prefix(kColumns.size());
    std::int64_t round = 0;
    std::from_chars(text.data(), text.data() + text.size(), round);
    return round;
}

}  // namespace fedhive::sim
