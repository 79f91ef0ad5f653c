// What a model's file says of itself, so that another program can rebuild the model from it alone: docs/pytorch.md.
#pragma once

#include "sim/plan/experiment.h"
#include "sim/round/round_record.h"

#include <map>
#include <optional>
#include <string>

namespace fedhive::sim {

/// Texts for `__metadata__`; lists are JSON. results/README.md names each key. `test`: metrics of this very model, where it was evaluated.
std::map<std::string, std::string> model_metadata(const Experiment& run, const std::optional<Metrics>& test);

}  // namespace fedhive::sim
