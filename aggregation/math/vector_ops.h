// Element-wise arithmetic on spans, on the host (vectorised) and on CUDA. Both run the same element bodies of element_ops.h,
// without fused multiply-add, so that the bits are the same in either memory space. This file loops over whole spans; rules
// that combine many updates have files of their own (mean.h, median.h).
//
// Memory   all spans of one call are in one memory space, except for copy.
// Stream   CUDA work is enqueued on the legacy default stream; only synchronize() and functions that return a value wait.
// Throws   ShapeError when sizes or spaces differ; Fault when a CUDA call fails or CUDA is not compiled in.
#pragma once

#include "aggregation/math/element_ops.h"
#include "aggregation/memory/param_span.h"

#include <cstdint>

namespace fedhive::aggregation {

/// to[i] = from[i]; the spaces may differ. Cost: 8 bytes an element.
void copy(ParamSpan to, ConstParamSpan from);

/// to[i] = 0.
void set_zero(ParamSpan to);

/// SGD as in torch.optim.SGD, dampening 0, in one pass over the parameters; sgd.cpp defines its config keys.
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

/// Adam as in torch.optim.Adam, or AdamW if the decay is decoupled; adam.cpp and adamw.cpp define the config keys.
struct AdamOptions {
    float lr = 0.001F;          // client rate, > 0
    float beta1 = 0.9F;         // in [0, 1)
    float beta2 = 0.999F;       // in [0, 1)
    float epsilon = 1e-8F;      // > 0
    float weight_decay = 0.0F;  // >= 0
    bool decoupled = false;     // false: the gradient gets + weight_decay * p; true: p *= 1 - lr * weight_decay
};

/// m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2;
/// p -= lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + epsilon),
/// with g = gradient + weight_decay * p; if the decay is decoupled, g = gradient and p *= 1 - lr * weight_decay first.
///
/// Shapes   all [P]; m and v are zero before a client's first step, which is step 1.
/// Source   Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 1; Loshchilov and Hutter 2019 (arXiv:1711.05101), Algorithm 2, with
///          the rate before the decay as in torch.optim.AdamW.
void adam_step(ParamSpan parameters, ConstParamSpan gradient, ParamSpan m, ParamSpan v, const AdamOptions& options,
               std::uint64_t step);

/// Adagrad as in torch.optim.Adagrad, without a decay of its rate.
struct AdagradOptions {
    float lr = 0.01F;           // client rate, > 0
    float weight_decay = 0.0F;  // >= 0, added to the gradient
    float epsilon = 1e-10F;     // > 0
};

/// g = gradient + weight_decay * p;  sum += g^2;  p -= lr * g / (sqrt(sum) + epsilon).
///
/// Shapes   all [P]; sum is zero before a client's first step.
/// Source   Duchi et al. 2011 (JMLR 12), equation 1 with a diagonal matrix; torch.optim.Adagrad's form of it.
void adagrad_step(ParamSpan parameters, ConstParamSpan gradient, ParamSpan sum, const AdagradOptions& options);

/// Properties of an update, computed while it is written.
struct UpdateSummary {
    bool finite = true;      // no NaN, no infinity
    double norm = 0.0;       // Euclidean
    std::uint64_t hash = 0;  // of the bits, by chunks and lanes like the norm; any single changed element changes it
};

/// update[i] = local[i] - global[i], and its summary. `update` may be `local` or `global`.
///
/// Order    squares are summed in double over fixed chunks of 1,024 elements in 32 lanes, chunks in order: same bits anywhere.
/// Stream   synchronises (it returns values).
UpdateSummary write_update(ParamSpan update, ConstParamSpan local, ConstParamSpan global);

/// update[i] = local[i] - global[i], without waiting: the summary's sums are written to `totals`, which may be read after synchronize().
/// On CUDA, `totals` must be memory that the device can write (pinned_array.h).
void write_update(ParamSpan update, ConstParamSpan local, ConstParamSpan global, element::ChunkSummary& totals);
UpdateSummary summary_of(const element::ChunkSummary& totals);

/// to[i] = f32(weight * (local[i] - global[i])); add_scaled_update does += instead. `totals` gets the sums of the unscaled update
/// local - global, as in write_update().
void scale_update(ParamSpan to, ConstParamSpan local, ConstParamSpan global, double weight, element::ChunkSummary& totals);
void add_scaled_update(ParamSpan to, ConstParamSpan local, ConstParamSpan global, double weight, element::ChunkSummary& totals);

/// to[i] = f32(weight * from[i]), the product taken in double and rounded once. `to` may be `from`.
void scale(ParamSpan to, ConstParamSpan from, double weight);

/// to[i] += from[i].
void add(ParamSpan to, ConstParamSpan from);

/// to[i] += f32(weight * from[i]), with the bits of scale() followed by add().
void add_scaled(ParamSpan to, ConstParamSpan from, double weight);

/// Whether no value is NaN or infinite.
///
/// Stream   synchronises.
/// Cost     reads all values, and copies them to the host first if they are on a device.
bool all_finite(ConstParamSpan values);

/// Waits until all enqueued work on the span's memory space is done; nothing to do on the host.
void synchronize(MemorySpace space);

}  // namespace fedhive::aggregation
