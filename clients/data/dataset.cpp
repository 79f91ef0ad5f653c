#include "clients/data/dataset.h"

#include <algorithm>
#include <cstring>

namespace fedhive::clients {

namespace {

/// FNV-1a over 64-bit words; the shift carries high bits down, which the multiplication alone never does.
class Hash {
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

    void examples(const Examples& part) {
        for (const std::int64_t side : {part.shape.channels, part.shape.height, part.shape.width})
            word(static_cast<std::uint64_t>(side));
        if (part.type != ValueType::U8)
            word(static_cast<std::uint64_t>(part.type));  // bytes' fingerprints are older than types
        bytes(part.labels);
        bytes(part.values);
        if (!part.owners.empty()) bytes(part.owners);
    }

    std::uint64_t state() const { return state_; }

private:
    std::uint64_t state_ = 0xCBF29CE484222325U;
};

}  // namespace

std::uint64_t Dataset::fingerprint() const {
    Hash hash;
    hash.word(static_cast<std::uint64_t>(num_classes));
    hash.examples(train);
    hash.examples(test);
    return hash.state();
}

}  // namespace fedhive::clients
