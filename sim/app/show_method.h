// The output of `fedhive method`: a method file as fedhive reads it.
#pragma once

#include "sim/strategies/method.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// Its memories, what it sends in addition to FedAvg, its keys and its formulas, a line each.
std::string method_text(const Method& method);

/// Memories and formulas, a line each. weights: of an aggregation rule as text (AggregatorSpec::lines); empty: none.
std::string box_text(aggregation::formulas::MethodFormulas formulas, const std::vector<std::string>& weights);

}  // namespace fedhive::sim
