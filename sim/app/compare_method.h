// `fedhive method FILE --python`: compares the functions of a method file, run by Python, with the formulas that they were traced to.
#pragma once

#include "sim/strategies/method.h"

#include <string>

namespace fedhive::sim {

struct MethodComparison {
    std::string text;       // a line for each result
    bool is_equal = false;  // all results are equal
};

/// Evaluates all formulas on random values, in f32 as a run does, and the functions in Python on the same values, in f64. Two results are equal if
/// they differ by at most 1e-5 of the largest element. Throws ConfigError for a method that is no .py file, and for an error in Python.
MethodComparison compare_with_python(const Method& method);

}  // namespace fedhive::sim
