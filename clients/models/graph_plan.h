// The layers as which a graph of torch.export is run, planned for a model's data.
#pragma once

#include "clients/models/model_plan.h"

namespace fedhive::clients {

/// The layers of a graph, with the parameters frozen that are frozen in the file. Throws NoLayer or LayerMisfit if there are
/// none.
std::vector<PlannedLayer> plan_graph(const ModelSpec& spec, const exported::Program& program);

}  // namespace fedhive::clients
