// Arithmetic with sizes, which a graph does where PyTorch's Python would: "_operator.mul", "torch.sym_float".
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace fedhive::clients::exported {

/// Numbers and, for sizes, tensors in; a number out. Throws Fault for a division by zero and for what 64 bits do not hold.
using SymbolFunction = c10::IValue (*)(const std::vector<c10::IValue>& operands);

/// null: none of that name.
SymbolFunction symbol_of(const std::string& target);

}  // namespace fedhive::clients::exported
