// The text of strategy.visit in a segment that the workers inherit, so that a later change of the file has no effect.
#pragma once

#include "aggregation/memory/shared_segment.h"
#include "clients/visit/python_clients.h"
#include "sim/config/loaded_config.h"
#include "sim/plan/model_setup.h"

#include <memory>

namespace fedhive::sim {

/// The segment of clients::VisitHandle; null without strategy.visit. Throws ConfigError on a GPU, and if the visit
/// takes a module of PyTorch but the model has none (a graph, or a model with frozen parameters).
std::unique_ptr<aggregation::SharedSegment> visit_text(const LoadedConfig& loaded, const ModelSetup& model,
                                                       aggregation::MemorySpace space);

/// The handle of that segment; not given for null.
clients::VisitHandle handle_of(const aggregation::SharedSegment* text);

}  // namespace fedhive::sim
