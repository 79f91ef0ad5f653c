// A graph's input and output by its signature: one tensor of examples in, one of scores out.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fedhive::clients::exported {

struct GraphInput {
    std::vector<std::int64_t> sizes;  // of one example
    bool tokens = false;              // I64, not F32
    std::int64_t most_batch = std::numeric_limits<std::int64_t>::max();
};

/// The name of the only input that is neither parameter, buffer nor constant. For several inputs throws ConfigError, with the
/// line of Python that makes one of them.
std::string input_name(const nlohmann::json& graph_module);

/// tensor: the input's entry in the file; ranges: those of its dynamic sizes. Throws ConfigError for a type other than F32 and
/// I64, a fixed batch, another dynamic size, or a range of the batch that excludes 1.
GraphInput read_input(const nlohmann::json& tensor, const nlohmann::json& ranges);

/// specs: the signature's outputs. Throws ConfigError unless the output is one tensor.
void check_outputs(const nlohmann::json& specs);

}  // namespace fedhive::clients::exported
