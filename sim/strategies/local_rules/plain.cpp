// The loss alone, as in FedAvg.
#include "sim/strategies/local_rule.h"

namespace fedhive::sim {

LocalRuleSpec local_plain() { return {.name = "plain", .summary = "the loss alone", .keys = {}}; }

}  // namespace fedhive::sim
