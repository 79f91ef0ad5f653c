// A zip archive built by hand, so that any of its numbers can be wrong.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::testing {

using Members = std::vector<std::pair<std::string, std::string>>;

inline void append(std::string& bytes, std::uint64_t number, int size) {
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 255U);
}

/// A zip archive of stored members with correct checksums.
inline std::string archive_of(const Members& members) {
    std::string local, central;
    for (const auto& [name, content] : members) {
        std::string common;  // shared by both headers
        append(common, 20, 2);
        common.append(8, '\0');  // flags, stored, time, date
        append(common, crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())), 4);
        append(common, content.size(), 4);
        append(common, content.size(), 4);
        append(common, name.size(), 2);
        append(common, 0, 2);
        std::string at;
        at.append(10, '\0');  // comment, disk, attributes
        append(at, local.size(), 4);
        central += std::string("PK\1\2", 4) + std::string("\x14\0", 2) + common + at + name;
        local += std::string("PK\3\4", 4) + common + name + content;
    }
    std::string end("PK\5\6\0\0\0\0", 8);
    append(end, members.size(), 2);
    append(end, members.size(), 2);
    append(end, central.size(), 4);
    append(end, local.size(), 4);
    append(end, 0, 2);
    return local + central + end;
}

}  // namespace fedhive::testing
