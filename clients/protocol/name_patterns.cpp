#include "clients/protocol/name_patterns.h"

#include "aggregation/base/error.h"

#include <fnmatch.h>

#include <sstream>

namespace fedhive::clients {

NamePatterns NamePatterns::of(const std::vector<std::string>& patterns) {
    std::string text;
    for (const std::string& pattern : patterns) {
        if (pattern.empty() || pattern.find('\n') != std::string::npos)
            throw ConfigError("a pattern is empty, or contains a line break");
        text += (text.empty() ? "" : "\n") + pattern;
    }
    if (text.size() >= kMostText)
        throw ConfigError(fmt::format("the patterns have {} characters in total; allowed: {}; shorten them with *", text.size(),
                                      kMostText - 1));
    NamePatterns result;
    result.lines.set(text);
    return result;
}

bool NamePatterns::match(const std::string& name) const {
    std::istringstream patterns(lines.get());
    for (std::string pattern; std::getline(patterns, pattern);)
        if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
    return false;
}

}  // namespace fedhive::clients
