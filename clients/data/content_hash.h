// A fingerprint of contents, to distinguish data sets; not a cryptographic hash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fedhive::clients {

/// FNV-1a over 64-bit words. The shift mixes high bits into low ones, which the multiplication never does.
class ContentHash {
public:
    void word(std::uint64_t value) {
        state_ = (state_ ^ value) * 0x100000001B3U;
        state_ ^= state_ >> 32;
    }

    template <typename T>
    void bytes(const std::vector<T>& values) {
        const std::size_t size = values.size() * sizeof(T);
        word(size);
        const char* data = reinterpret_cast<const char*>(values.data());
        for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
            std::uint64_t next = 0;
            std::memcpy(&next, data + at, std::min(sizeof next, size - at));
            word(next);
        }
    }

    std::uint64_t state() const { return state_; }

private:
    std::uint64_t state_ = 0xCBF29CE484222325U;
};

}  // namespace fedhive::clients
