// The output of `fedhive method`: a method file as fedhive reads it.
#pragma once

#include "sim/strategies/method.h"

#include <string>

namespace fedhive::sim {

/// What it remembers, what travels beside FedAvg's, its keys and its formulas, a line each.
std::string method_text(const Method& method);

/// Memories and formulas, a line each.
std::string box_text(const aggregation::formulas::MethodFormulas& formulas);

}  // namespace fedhive::sim
