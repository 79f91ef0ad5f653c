// The first operations on a graph's input, and the last one before its output.
#pragma once

#include "clients/exported/program.h"

#include <set>
#include <string>

namespace fedhive::clients::exported {

/// The names of the operations whose operand is the network's input or a copy of it, reshaped or not: "conv2d", "sub".
std::set<std::string> first_operations(const Graph& graph);

/// The name of the operation that computes the network's output, apart from copies and reshapes: "softmax". Empty unless it is one of
/// aten's.
std::string last_operation(const Graph& graph);

}  // namespace fedhive::clients::exported
