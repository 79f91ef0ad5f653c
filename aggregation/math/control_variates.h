// Arithmetic of vectors that clients keep to correct their gradients: channel `control`, as long as the trainable part. SCAFFOLD's control
// variates travel behind the model; of others a client alone may know.
//
// Source   Karimireddy et al. 2020, "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning" (arXiv:1910.06378), Algorithm 1.
#pragma once

#include "aggregation/math/server_optimizer.h"
#include "aggregation/memory/channels.h"

#include <cstdint>
#include <memory>

namespace fedhive::aggregation {

/// What c_k grows by when client k has trained, less c where that comes down (line 12).
struct ControlChange {
    bool by_gradient = false;  // option I: the mean gradient over the client's examples at the model that it was sent; or
    double of_update = 0.0;    // so many times its update,
    bool by_steps = false;     // divided by its steps and their rate: option II is -1 of that
};

/// correction = c - c_k: what a client adds to each of its gradients (line 10). control: c, or empty: 0; state: c_k, in host memory, or empty: 0.
///
/// Shapes   all [trainable].
void write_correction(ParamSpan correction, ConstParamSpan control, ConstParamSpan state);

/// change = c_k^+ - c_k = of_update * update - c, and by steps of_update * update / (K * lr) - c: with update = y_k - x after K steps at rate lr.
/// control: c, or empty: 0.
///
/// Shapes   all [trainable].
void write_control_change(ParamSpan change, const ControlChange& by, ConstParamSpan update, ConstParamSpan control,
                          std::uint64_t steps, float lr);

/// `optimizer` for the model, and c += clients / num_clients * mean(change) for its channel (lines 16 and 17).
std::unique_ptr<ServerOptimizer> make_control_step(std::unique_ptr<ServerOptimizer> optimizer, const Channels& channels,
                                                   std::uint64_t num_clients);

}  // namespace fedhive::aggregation
