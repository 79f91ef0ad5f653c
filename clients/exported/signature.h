// What a graph takes and gives, as its signature says: one tensor of examples in, one of scores out.
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

/// The name of its one input that is neither parameter, buffer nor constant. Throws ConfigError, with the line of Python that makes one of several.
std::string input_name(const nlohmann::json& graph_module);

/// `tensor`: what the file says of it; `ranges`: of the sizes that are free. Throws ConfigError: another type than F32 and I64, a fixed batch, another
/// size that is free, batches of 1 left out.
GraphInput read_input(const nlohmann::json& tensor, const nlohmann::json& ranges);

/// `specs`: the signature's. Throws ConfigError where it gives anything else than one tensor.
void check_outputs(const nlohmann::json& specs);

}  // namespace fedhive::clients::exported
