// A method's formulas at the server: the weights of a round's updates, and the step that makes the next model.
#pragma once

#include "aggregation/cohort/weight_rule.h"
#include "aggregation/formulas/cohort_values.h"
#include "aggregation/formulas/method_formulas.h"
#include "aggregation/math/server_optimizer.h"

#include <cstdint>
#include <memory>

namespace fedhive::aggregation::formulas {

/// Weighs the updates by the method's `cohort` formulas, for u = Σ_k weight_k u_k, which is not divided by the weights. If `cohort` sets
/// no weight, the updates keep theirs. Its other numbers go to `numbers`.
///
/// method   has Place::Cohort.
std::unique_ptr<WeightRule> make_formula_weights(const MethodFormulas& method, std::shared_ptr<CohortNumbers> numbers);

struct ServerScene {
    Layout layout;  // of the model
    Memories memories;
    std::uint64_t num_clients = 0;
};

/// Computes the next model and the server's memories by the method's `server` formulas. A memory that clients are not sent is a moment of
/// this optimiser, as long as a global region. The model's buffers (BatchNorm statistics) become the mean of the clients'.
///
/// method   has Place::Server.
std::unique_ptr<ServerOptimizer> make_formula_server(const MethodFormulas& method, const ServerScene& scene,
                                                     std::shared_ptr<const CohortNumbers> numbers);

}  // namespace fedhive::aggregation::formulas
