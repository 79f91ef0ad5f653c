// The functions that formulas of parameters and of a cohort may call. Those of examples: row_functions.h.
#pragma once

#include "aggregation/formulas/opcode.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

/// One operation by its name. norm(a) = sqrt(dot(a, a)) and cos(a, b) = dot(a, b) / (norm(a) * norm(b)) are made of several.
struct Function {
    std::string_view name;
    Opcode op;
    std::size_t args;
};

/// nullptr if no operation has that name.
const Function* function_named(std::string_view name);

/// All names, with norm and cos, in alphabetical order.
std::vector<std::string> function_names();

}  // namespace fedhive::aggregation::formulas
