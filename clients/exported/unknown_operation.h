// The error for an operation that is not in the list: its place in the Python source, and a replacement.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace fedhive::clients::exported {

/// Throws ConfigError, with a line of Python that mends the problem if there is one: for an in-place operation whose other form
/// is allowed, an operation with out=, and a decomposed graph. target: such as "torch.ops.aten.exp_.default"; graph: the file's
/// JSON, with the source places of most operations.
[[noreturn]] void refuse_operation(const std::string& target, const nlohmann::json& graph);

}  // namespace fedhive::clients::exported
