// A 32-bit hash of a text, equal on every machine, for names and streams; not cryptographic. Private to sim/config.
#pragma once

#include <cstdint>
#include <string_view>

namespace fedhive::sim {

/// FNV-1a over bytes.
inline std::uint32_t text_hash(std::string_view text) {
    std::uint32_t hash = 0x811C9DC5U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
    return hash;
}

}  // namespace fedhive::sim
