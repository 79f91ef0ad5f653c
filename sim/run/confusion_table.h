// confusion.csv as text: the last evaluation's test targets of each class by the class that was predicted (results/README.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fedhive::sim {

/// A row for each pair that occurred. counts: [classes][classes], label by label; round: from 1.
std::string confusion_table(std::int64_t round, std::span<const double> counts);

/// The round that such a table belongs to; 0 if the text is no such table.
std::int64_t round_of_confusion_table(std::string_view text);

}  // namespace fedhive::sim
