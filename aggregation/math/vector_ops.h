// Element-wise arithmetic on spans, on the host (vectorised) and on CUDA. Both run the same element bodies of element_ops.h,
// without fused multiply-add, so a span gives the same bits in either memory space. Loops over whole spans live here; rules that
// turn many updates into one live beside it (mean.h, median.h).
//
// Memory   all spans of one call lie in one memory space, except for copy.
// Stream   CUDA work is enqueued on the legacy default stream; only synchronize() and functions that return a value wait.
// Throws   ShapeError when sizes or spaces differ; Fault when a CUDA call fails or CUDA is not compiled in.
#pragma once

#include "aggregation/math/element_ops.h"
#include "aggregation/memory/param_span.h"

#include <cstdint>

namespace fedhive::aggregation {

/// to[i] = from[i]; the spaces may differ. Cost: 8*P bytes.
void copy(ParamSpan to, ConstParamSpan from);

/// to[i] = 0.
void set_zero(ParamSpan to);

/// SGD as in torch.optim.SGD, dampening 0, in one pass over the parameters; sgd.cpp says what a config may make of it.
struct SgdOptions {
    float lr = 0.01F;           // client rate, > 0 (eta_l)
    float momentum = 0.0F;      // in [0, 1)
    float weight_decay = 0.0F;  // >= 0, added to the gradient
    bool nesterov = false;      // needs momentum > 0
};

/// g = gradient + weight_decay * p;  v = momentum * v + g;  p -= lr * (nesterov ? g + momentum * v : v).
///
/// Shapes   parameters, gradient: [P]; velocity: [P], zero before a client's first step, empty when momentum is 0.
/// Source   Sutskever et al. 2013; torch.optim.SGD's form of it.
void sgd_step(ParamSpan parameters, ConstParamSpan gradient, ParamSpan velocity, const SgdOptions& options);

/// gradient[i] += mu * (local[i] - global[i]): the FedProx term (Li et al. 2020, arXiv:1812.06127, eq. 2).
void add_proximal_gradient(ParamSpan gradient, ConstParamSpan local, ConstParamSpan global, float mu);

/// What is known of an update the moment it is written.
struct UpdateSummary {
    bool finite = true;      // no NaN, no infinity
    double norm = 0.0;       // Euclidean
    std::uint64_t hash = 0;  // of the bits, by chunks and lanes like the norm: tells any single changed element
};

/// update[i] = local[i] - global[i], and its summary. `update` may be `local`.
///
/// Order    squares are summed in double over fixed chunks of 1,024 elements in 32 lanes, chunks in order: same bits anywhere.
/// Stream   synchronises (it returns values).
UpdateSummary write_update(ParamSpan update, ConstParamSpan local, ConstParamSpan global);

/// The same without waiting: the sums that the summary is made of come to `totals`, to be read after synchronize(). On CUDA they lie in memory
/// that the device can write (pinned_array.h).
void write_update(ParamSpan update, ConstParamSpan local, ConstParamSpan global, element::ChunkSummary& totals);
UpdateSummary summary_of(const element::ChunkSummary& totals);

/// scale() and add_scaled() of an update that is never written anywhere, and its sums as above: to[i] = or += f32(weight * (local[i] - global[i])).
void scale_update(ParamSpan to, ConstParamSpan local, ConstParamSpan global, double weight, element::ChunkSummary& totals);
void add_scaled_update(ParamSpan to, ConstParamSpan local, ConstParamSpan global, double weight, element::ChunkSummary& totals);

/// to[i] = f32(weight * from[i]), the product taken in double and rounded once. `to` may be `from`.
void scale(ParamSpan to, ConstParamSpan from, double weight);

/// to[i] += from[i].
void add(ParamSpan to, ConstParamSpan from);

/// to[i] += f32(weight * from[i]): the bits of scale() into a third span and add() of that.
void add_scaled(ParamSpan to, ConstParamSpan from, double weight);

/// No NaN, no infinity among them.
///
/// Stream   synchronises.
/// Cost     4*P bytes, copied to the host first where they lie on a device.
bool all_finite(ConstParamSpan values);

/// Waits until all enqueued work on the span's memory space is done; nothing to do on the host.
void synchronize(MemorySpace space);

}  // namespace fedhive::aggregation
