// The metadata of a model file, from which another program can rebuild the model: docs/pytorch.md.
#pragma once

#include "sim/plan/experiment.h"
#include "sim/round/round_record.h"

#include <map>
#include <optional>
#include <string>

namespace fedhive::sim {

/// Texts for `__metadata__`; lists are JSON. results/README.md names each key. `test`: this model's metrics, if it was
/// evaluated.
std::map<std::string, std::string> model_metadata(const Experiment& run, const std::optional<Metrics>& test);

}  // namespace fedhive::sim
