// Patterns of names as a shell has them, in plain data: which parameters "conv*.weight" means.
#pragma once

#include "clients/protocol/fixed_text.h"

#include <string>
#include <vector>

namespace fedhive::clients {

struct NamePatterns {
    static constexpr std::size_t kMostText = 1024;  // of all patterns together

    FixedText<kMostText> lines;  // a pattern each

    /// Throws ConfigError for an empty pattern, one with a line break, or more text than there is room for.
    static NamePatterns of(const std::vector<std::string>& patterns);

    bool any() const { return lines.characters[0] != '\0'; }

    /// Whether the name is like one of them: * is any text, ? any character, [ab] one of these.
    bool match(const std::string& name) const;
};

}  // namespace fedhive::clients
