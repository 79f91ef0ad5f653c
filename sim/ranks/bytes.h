// Plain values, serialised one after the other into a string of bytes, for messages between processes of one build.
#pragma once

#include "aggregation/base/error.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace fedhive::sim {

class BytesWriter {
public:
    template <typename T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void put_text(std::string_view text) {
        put(std::uint64_t{text.size()});
        bytes_ += text;
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

/// Throws Fault if fewer bytes are left than requested.
class BytesReader {
public:
    explicit BytesReader(std::string_view bytes) : rest_(bytes) {}
    explicit BytesReader(std::string&&) = delete;  // the reader keeps a view, so the bytes must outlive it

    template <typename T>
    T get() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        std::memcpy(&value, next(sizeof value).data(), sizeof value);
        return value;
    }
    std::string get_text() { return std::string(next(get<std::uint64_t>())); }
    bool empty() const { return rest_.empty(); }

private:
    std::string_view next(std::uint64_t count) {
        FEDHIVE_CHECK(count <= rest_.size(), "a message ends {} bytes too early", count - rest_.size());
        const std::string_view part = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return part;
    }
    std::string_view rest_;
};

}  // namespace fedhive::sim
