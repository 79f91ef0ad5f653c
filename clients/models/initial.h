// A model's initial tensors, drawn as PyTorch draws them, bit for bit, without LibTorch.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/models/catalog.h"

#include <cstdint>

namespace fedhive::clients {

/// Writes the tensors that torch.nn's default initialisation gives after torch.manual_seed(seed), into a host span of layout.num_floats(), where
/// all of them are uniform or constant. Normal ones (embeddings) are LibTorch's to draw: its vectorised logarithm has last bits of its own.
/// Nothing of the model is frozen.
///
/// Source   PyTorch 2.11: uniform_() takes the low 24 bits of a draw of MT19937, one after the other.
/// Returns  false, and leaves the span as it is, where a tensor is normal or the model is a graph.
bool draw_initial(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed, aggregation::ParamSpan to);

}  // namespace fedhive::clients
