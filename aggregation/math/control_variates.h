// Arithmetic of control variates: each client has a memory c_k that corrects its gradients. SCAFFOLD sends them after the model;
// with other strategies they may stay with the client.
//
// Source   Karimireddy et al. 2020, "SCAFFOLD: Stochastic Controlled Averaging for Federated
//          Learning" (arXiv:1910.06378), Algorithm 1.
#pragma once

#include "aggregation/math/server_optimizer.h"
#include "aggregation/memory/memories.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace fedhive::aggregation {

/// Name of the memory: c_k in a client's record, c in a global region, the change c_k^+ - c_k in a slot or beside it.
inline constexpr std::string_view kControl = "control";

/// The change of c_k after client k has trained (line 12): c_k^+ - c_k = x - c, with c = 0 if the server sends none.
struct ControlChange {
    bool by_gradient = false;  // option I: x = the mean of g + c - c_k over all examples, at the received model
    double of_update = 0.0;    // else x = of_update * update,
    bool by_steps = false;     // divided by (steps * rate) if true; option II: of_update -1 with by_steps

    /// False in a run without control variates.
    constexpr bool any() const { return by_gradient || of_update != 0.0; }
};

/// correction = c - c_k, which a client adds to each of its gradients (line 10). control: c, empty means 0;
/// state: c_k in host memory, empty means 0.
///
/// Shapes   all [trainable].
void write_correction(ParamSpan correction, ConstParamSpan control, ConstParamSpan state);

/// change = c_k^+ - c_k = of_update * update - c; with by_steps, of_update * update / (K * lr) - c. update = y_k - x after K =
/// `steps` steps at rate lr. control: c, empty means 0.
///
/// Shapes   all [trainable].
void write_control_change(ParamSpan change, const ControlChange& by, ConstParamSpan update, ConstParamSpan control,
                          std::uint64_t steps, float lr);

/// Steps the model with `optimizer`, and memory `control` by c += clients / num_clients * mean(change) (lines 16 and 17).
std::unique_ptr<ServerOptimizer> make_control_step(std::unique_ptr<ServerOptimizer> optimizer, const Memories& memories,
                                                   std::uint64_t num_clients);

}  // namespace fedhive::aggregation
