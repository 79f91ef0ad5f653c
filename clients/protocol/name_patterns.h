// Shell patterns of names as plain data, such as "conv*.weight" for parameters.
#pragma once

#include "clients/protocol/fixed_text.h"

#include <string>
#include <vector>

namespace fedhive::clients {

struct NamePatterns {
    static constexpr std::size_t kMostText = 1024;  // characters of all patterns together

    FixedText<kMostText> lines;  // one pattern a line

    /// Throws ConfigError for an empty pattern, a pattern with a line break, or more text than kMostText allows.
    static NamePatterns of(const std::vector<std::string>& patterns);

    bool any() const { return lines.characters[0] != '\0'; }

    /// Whether the name matches one of the patterns: * is any text, ? any character, [ab] one of the characters.
    bool match(const std::string& name) const;
};

}  // namespace fedhive::clients
