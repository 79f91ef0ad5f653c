// What a graph may ask for. Each overload was looked at by itself: none opens a file, sees memory that is not a tensor's own (set_, as_strided,
// resize_), or returns memory that nobody has written (empty is filled with zeros when it runs). What a kernel does not check itself is checked
// before it is called (kernel_checks.h).
#pragma once

#include "clients/exported/graph.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients::exported {

inline constexpr std::string_view kAten = "torch.ops.aten.";
inline constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

/// The version of all of them, as files say: opset_version. It grows where an operator of that name comes to mean something else.
inline constexpr int kAtenVersion = 10;

/// Overloads of aten that may be called, "conv2d.default", sorted.
std::span<const std::string_view> aten_operations();

/// Arithmetic with sizes: "_operator.mul", "torch.sym_float", "torch.ops.aten.sym_size.int".
std::span<const std::string_view> symbol_operations();

/// Operations that run graphs of their own: "wrap_with_set_grad_enabled".
std::span<const std::string_view> graph_operations();

bool is_allowed(const std::string& target);

/// The arguments of that operation that it writes to: "self" of add_, "out" of div.out, the running statistics of a norm in training.
std::vector<std::string> written_arguments(const Node& node);

}  // namespace fedhive::clients::exported
