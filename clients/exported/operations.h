// The operations that a graph may use. Each overload was reviewed: none opens a file, accesses memory outside its tensors
// (as set_, as_strided, resize_ do), or returns uninitialised memory (the result of empty is zeroed). Arguments that a kernel
// does not check itself are checked before the call (kernel_checks.h).
#pragma once

#include "clients/exported/graph.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients::exported {

inline constexpr std::string_view kAten = "torch.ops.aten.";
inline constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

/// The version of the operators, opset_version in files. It grows when the meaning of an operator changes.
inline constexpr int kAtenVersion = 10;

/// Overloads of aten that may be called, such as "conv2d.default", sorted.
std::span<const std::string_view> aten_operations();

/// Arithmetic with sizes: "_operator.mul", "torch.sym_float", "torch.ops.aten.sym_size.int".
std::span<const std::string_view> symbol_operations();

/// Operations that run graphs of their own: "wrap_with_set_grad_enabled".
std::span<const std::string_view> graph_operations();

bool is_allowed(const std::string& target);

/// Names of the arguments that the operation writes: "self" of add_, "out" of div.out, the
/// running statistics of a norm in training.
std::vector<std::string> written_arguments(const Node& node);

}  // namespace fedhive::clients::exported
