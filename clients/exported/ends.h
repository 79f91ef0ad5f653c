// What a graph does with its input first, and last to give its output.
#pragma once

#include "clients/exported/program.h"

#include <set>
#include <string>

namespace fedhive::clients::exported {

/// "conv2d", "sub": the operations that take the network's input, or a copy of it in another shape.
std::set<std::string> first_operations(const Graph& graph);

/// "softmax": the operation that gives the network's output, which may be copied, or take another shape, behind it. Empty: another one than PyTorch's own.
std::string last_operation(const Graph& graph);

}  // namespace fedhive::clients::exported
