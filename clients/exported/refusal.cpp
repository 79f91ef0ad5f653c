#include "clients/exported/refusal.h"

#include "aggregation/base/error.h"
#include "aggregation/base/without_controls.h"

namespace fedhive::clients::exported {

void refuse(const std::string& what, std::string_view line) { throw ConfigError(fmt::format("{}; fix: {}", what, line)); }

void refuse(const std::string& what) { throw ConfigError(what); }

std::string shown(std::string_view text) {
    constexpr std::size_t kMost = 100;
    return fmt::format("'{}{}'", without_controls(text.substr(0, kMost)), text.size() > kMost ? "…" : "");
}

}  // namespace fedhive::clients::exported
