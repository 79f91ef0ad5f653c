// `fedhive method FILE --python`: the functions of a method file as they are, run by Python, beside the formulas that they were traced to.
#pragma once

#include "sim/strategies/method.h"

#include <string>

namespace fedhive::sim {

struct MethodComparison {
    std::string text;       // a line for each result
    bool is_equal = false;  // all are
};

/// Evaluates all formulas on drawn values, in f32 as a run does, and has Python evaluate the functions on the same values in f64. Equal: 1e-5 of the
/// largest element. Throws ConfigError for a method that is no .py file, and for what Python says.
MethodComparison compare_with_python(const Method& method);

}  // namespace fedhive::sim
