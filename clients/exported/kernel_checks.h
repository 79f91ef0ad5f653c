// What kernels of LibTorch leave to PyTorch's Python to check: without it, some of them read and write beyond their tensors.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace fedhive::clients::exported {

/// Looks at the arguments of a call, in the schema's order, and may put others in their place. Throws Fault.
using KernelCheck = void (*)(std::vector<c10::IValue>& arguments);

/// Of "lstm.input"; null: the kernel checks all itself.
KernelCheck kernel_check_of(const std::string& operation);

}  // namespace fedhive::clients::exported
