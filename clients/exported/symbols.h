// A graph's arithmetic with sizes, which PyTorch does in Python: "_operator.mul", "torch.sym_float".
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace fedhive::clients::exported {

/// Maps numbers and, for sizes, tensors to a number. Throws Fault for a division by zero and for results that exceed 64 bits.
using SymbolFunction = c10::IValue (*)(const std::vector<c10::IValue>& operands);

/// null if there is no function of that name.
SymbolFunction symbol_of(const std::string& target);

}  // namespace fedhive::clients::exported
