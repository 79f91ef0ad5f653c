// A changed checkpoint with its correct SHA-256, so that readers must detect the change by other means.
#pragma once

#include "aggregation/base/sha256.h"

#include <string>
#include <string_view>

namespace fedhive::testing {

/// Returns the content unchanged if it has no complete hash.
inline std::string with_right_hash(std::string content) {
    constexpr std::string_view kKey = R"("sha256":")";
    constexpr std::size_t kDigits = 64;
    const std::size_t key = content.find(kKey);
    if (key == std::string::npos || content.size() - key - kKey.size() < kDigits) return content;
    content.replace(key + kKey.size(), kDigits, std::string(kDigits, '0'));
    Sha256 hash;
    hash.update(content.data(), content.size());
    return content.replace(key + kKey.size(), kDigits, hash.hex_digest());
}

}  // namespace fedhive::testing
