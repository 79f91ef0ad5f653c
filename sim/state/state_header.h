// The JSON header of a safetensors file, read without building a JSON value: what is not a header is refused at the first token that
// does not belong, so neither depth nor size of hostile JSON matters. Private to state_file.cpp.
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
    std::vector<HeaderTensor> tensors;  // in the order of the text; names and ranges as they stand there
};

/// The name of the entry that is not a tensor.
inline constexpr std::string_view kMetadata = "__metadata__";

/// Throws ConfigError "<what>: …" for text that is not a JSON object of tensors, each with dtype, shape and data_offsets and nothing
/// else, and of metadata, each a string.
StateHeader parse_state_header(std::string_view text, const std::string& what);

}  // namespace fedhive::sim
