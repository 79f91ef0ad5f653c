// Mixes a round's updates for each client separately, by a method's formulas `peers` and `mix`. The results are start points of
// personal models (FedAMP, pFedGraph) in the clients' records.
//
//   peers   weight = …       for client i, the weight of each of the round's K updates. It may read k.me, 1 for client i's own update, else 0;
//                           k.id, the clients' ids; k.their_loss, the loss of each update's model on client i's examples
//   mix     memory = …       a memory of client i. It may read u = Σ_j weight_j u_j, the model w_t that was sent, and client i's memories
#pragma once

#include "aggregation/formulas/cohort_values.h"
#include "aggregation/formulas/formula_server.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/param_buffer.h"

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::aggregation::formulas {

class FormulaMix {
public:
    /// method   has Place::Peers and Place::Mix.
    FormulaMix(const MethodFormulas& method, const ServerScene& scene);

    /// The weights of all updates for the client of update `own`. losses: the loss of each update's model on that client's examples if
    /// reads_losses(); else empty.
    Coefficients weigh(const RoundUpdates& updates, std::size_t own, std::span<const double> losses = {});

    /// The changes of the record of the client of the last weigh(): one for each memory that `mix` sets, valid until the next call.
    ///
    /// sent     the region that was sent, the model and its memories (memory/memories.h); in host memory.
    /// sum      Σ_j weight_j u_j, with the same sums of the memories that clients send beside their updates; as long as `sent`, in host memory.
    /// record   the client's memories, as its visit has left them.
    /// Memory   the model's floats for each memory that `mix` sets.
    const std::vector<RecordChange>& mixed(ConstParamSpan sent, ConstParamSpan sum, ConstParamSpan record);

    /// weigh() reads `losses`.
    bool reads_losses() const { return reads_losses_; }
    /// mixed() reads `sum`.
    bool takes_sum() const { return takes_sum_; }

private:
    Executor peers_, mix_;
    ServerScene scene_;
    std::vector<ElementRange> ranges_;
    CohortNames names_;
    std::vector<std::string> came_up_{}, kept_{};          // memories that clients send, and keep: `mix` may read both
    std::vector<ParamBuffer> rooms_{};                     // one for each memory that is a vector
    std::deque<std::pair<std::string, float>> numbers_{};  // memories that `mix` sets; a deque: changes_ has their places
    std::vector<RecordChange> changes_{};
    double round_ = 0.0, received_ = 0.0;
    bool takes_sum_ = false, reads_losses_ = false;
};

}  // namespace fedhive::aggregation::formulas
