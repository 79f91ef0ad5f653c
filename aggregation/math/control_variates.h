// Arithmetic of control variates, a memory of each client by which it corrects its gradients. SCAFFOLD's travel after the model;
// those of other strategies may stay with the client.
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

/// The memory: c_k in a client's record, c in a global region, c_k^+ - c_k in a slot or beside it.
inline constexpr std::string_view kControl = "control";

/// How c_k changes when client k has trained (line 12): by the value below, minus c if the server sends c.
struct ControlChange {
    bool by_gradient = false;  // option I: mean corrected gradient (g + c - c_k) over all examples, at the received model; or
    double of_update = 0.0;    // the update times this factor,
    bool by_steps = false;     // divided by (steps * rate) if true; option II has factor -1 and by_steps

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
