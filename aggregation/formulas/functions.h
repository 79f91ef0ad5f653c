// The functions by name that formulas of parameters and of a cohort may call. Formulas of an example have those of row_functions.h.
#pragma once

#include "aggregation/formulas/opcode.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

/// A function that is one operation: its name, the operation, and its number of arguments. If `last_is_one`, the last argument may be left
/// out; it is 1 then.
struct Function {
    std::string_view name;
    Opcode op;
    std::size_t args;
    bool last_is_one = false;
};

/// The function of that name; nullptr if none has it. norm and cos are not found: they are several operations,
/// norm(a) = sqrt(dot(a, a)) and cos(a, b) = dot(a, b) / (norm(a) * norm(b)).
const Function* function_named(std::string_view name);

/// All names that a formula may call, norm and cos included, in alphabetical order.
std::vector<std::string> function_names();

}  // namespace fedhive::aggregation::formulas
