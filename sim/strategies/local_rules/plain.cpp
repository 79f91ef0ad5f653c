// The loss alone, as in FedAvg.
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

LocalRuleSpec local_plain() {
    return {.name = "plain", .summary = "the loss alone", .keys = {}, .apply = [](Strategy&, const Values&) {}};
}

}  // namespace fedhive::sim
