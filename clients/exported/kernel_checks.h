// Argument checks that LibTorch's kernels leave to PyTorch's Python code. Without them, some kernels
// read and write beyond their tensors.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace fedhive::clients::exported {

/// Checks the arguments of a call, in the schema's order, and may replace them. Throws Fault.
using KernelCheck = void (*)(std::vector<c10::IValue>& arguments);

/// The check of an operation such as "lstm.input"; null if the kernel needs none.
KernelCheck kernel_check_of(const std::string& operation);

}  // namespace fedhive::clients::exported
