// A model's initial tensors, drawn as PyTorch draws them, bit for bit, without LibTorch.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/models/catalog.h"

#include <cstdint>

namespace fedhive::clients {

/// Writes torch.nn's default initialisation after torch.manual_seed(seed) into `to`, a host span of layout.num_floats(), if all
/// tensors are uniform or constant. LibTorch must draw normal tensors (embeddings), since the last bits of its vectorised
/// logarithm differ. The model must have no frozen tensors.
///
/// Source   PyTorch 2.11: uniform_() takes the low 24 bits of one draw of MT19937 for each value, in order.
/// Returns  false, with the span unchanged, if a tensor is normal or the model is a graph.
bool draw_initial(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed, aggregation::ParamSpan to);

}  // namespace fedhive::clients
