#include "clients/exported/refusal.h"

#include "aggregation/base/error.h"

namespace fedhive::clients::exported {

void refuse(const std::string& what, std::string_view line) { throw ConfigError(fmt::format("{}; fix: {}", what, line)); }

void refuse(const std::string& what) { throw ConfigError(what); }

std::string shown(std::string_view text) {
    constexpr std::size_t kMost = 100;
    std::string printable = "'";
    for (const char c : text.substr(0, kMost)) printable += c >= 0 && (c < ' ' || c == 0x7F) ? '?' : c;
    return printable + (text.size() > kMost ? "…'" : "'");
}

}  // namespace fedhive::clients::exported
