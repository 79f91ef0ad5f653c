// What is said of an operation that is not in the list: where in Python it stands, and what to write in its place.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace fedhive::clients::exported {

/// `target`: "torch.ops.aten.exp_.default"; `graph`: the file's, whose operations say where they come from, if nobody has taken it out. Throws
/// ConfigError, with the line of Python that mends it where there is one: of an operation in place whose other form is allowed, of one that
/// writes its result elsewhere (out=), of a decomposed graph.
[[noreturn]] void refuse_operation(const std::string& target, const nlohmann::json& graph);

}  // namespace fedhive::clients::exported
