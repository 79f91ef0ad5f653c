// The output of `fedhive method`: a method file as fedhive reads it.
#pragma once

#include "aggregation/cohort/aggregator_catalog.h"
#include "sim/strategies/method.h"

#include <string>

namespace fedhive::sim {

/// Its memories, what it sends in addition to FedAvg, its keys and its formulas, a line each.
std::string method_text(const Method& method);

/// Memories and formulas, a line each, with the rule's weights if they are text.
std::string box_text(aggregation::formulas::MethodFormulas formulas, const aggregation::AggregatorSpec& rule);

}  // namespace fedhive::sim
