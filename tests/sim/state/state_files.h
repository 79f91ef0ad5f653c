// Safetensors files built by hand, for contents that encode_state never writes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A file with exactly that header, and that many data bytes, 1, 2, 3, …
inline std::string file_of(const std::string& header, std::size_t data_bytes) {
    const std::uint64_t length = header.size();
    std::string content(sizeof length, '\0');
    std::memcpy(content.data(), &length, sizeof length);
    content += header;
    for (std::size_t i = 0; i < data_bytes; ++i) content += static_cast<char>(i + 1);
    return content;
}

/// A tensor's entry in a header, and a header of such entries; contents are not checked.
inline std::string tensor_entry(const std::string& name, const std::string& dtype, const std::string& shape,
                                const std::string& offsets) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
}

inline std::string header_of(const std::vector<std::string>& entries) { return fmt::format("{{{}}}", fmt::join(entries, ",")); }

}  // namespace fedhive::sim
