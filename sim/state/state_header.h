// Parser of a safetensors file's JSON header that builds no JSON value. It stops at the first invalid token, so that the depth
// and size of hostile JSON do not matter. Private to state_file.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

struct HeaderTensor {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // bytes from the start of the data
    std::uint64_t end = 0;
};

struct StateHeader {
    std::map<std::string, std::string> metadata;
    std::vector<HeaderTensor> tensors;  // in text order, names and ranges unchecked
};

/// The entry that is not a tensor.
inline constexpr std::string_view kMetadata = "__metadata__";

/// Throws ConfigError "<what>: …" unless the text is a JSON object of tensors, each with exactly dtype, shape and data_offsets,
/// and of metadata, all strings.
StateHeader parse_state_header(std::string_view text, const std::string& what);

}  // namespace fedhive::sim
