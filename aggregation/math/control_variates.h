// SCAFFOLD's arithmetic on flat vectors. Control variates travel behind the model, as channel `control`, as long as the trainable part.
//
// Source   Karimireddy et al. 2020, "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning" (arXiv:1910.06378), Algorithm 1.
#pragma once

#include "aggregation/math/server_optimizer.h"
#include "aggregation/memory/channels.h"

#include <cstdint>
#include <memory>

namespace fedhive::aggregation {

/// What c_k becomes when client k has trained (line 12).
enum class ControlVariates : std::uint32_t {
    None,
    ByGradient,  // option I: the mean gradient over the client's examples at the model that it was sent
    BySteps,     // option II: what its steps say of its gradients
};

/// correction = c - c_k: what a client adds to each of its gradients (line 10). state: c_k, in host memory, or empty: 0.
///
/// Shapes   all [trainable].
void write_correction(ParamSpan correction, ConstParamSpan control, ConstParamSpan state);

/// change = c_k^+ - c_k = -c - update / (K * lr): option II of line 12, with update = y_k - x after K steps at rate lr.
///
/// Shapes   all [trainable].
void write_control_change(ParamSpan change, ConstParamSpan update, ConstParamSpan control, std::uint64_t steps, float lr);

/// `optimizer` for the model, and c += clients / num_clients * mean(change) for its channel (lines 16 and 17).
std::unique_ptr<ServerOptimizer> make_control_step(std::unique_ptr<ServerOptimizer> optimizer, const Channels& channels,
                                                   std::uint64_t num_clients);

}  // namespace fedhive::aggregation
