// A method's formulas at the server: the weights of a round's updates, and the step that makes the next model.
#pragma once

#include "aggregation/cohort/weight_rule.h"
#include "aggregation/formulas/cohort_values.h"
#include "aggregation/formulas/method_formulas.h"
#include "aggregation/math/server_optimizer.h"

#include <cstdint>
#include <memory>

namespace fedhive::aggregation::formulas {

/// u = Σ weight_k u_k, undivided, with the weights of `cohort`, for an aggregator that sums; if it gives none, the updates keep
/// theirs. Its numbers go to `numbers`.
///
/// method   has Place::Cohort.
std::unique_ptr<WeightRule> make_formula_weights(const MethodFormulas& method, std::shared_ptr<CohortNumbers> numbers);

struct ServerScene {
    Layout layout;  // of the model
    Memories memories;
    std::uint64_t num_clients = 0;
};

/// The next model, and the server's memories, by `server`. Memories that do not go down are its moments, of the region's size. The
/// model's buffers take the mean of what came up.
///
/// method   has Place::Server.
std::unique_ptr<ServerOptimizer> make_formula_server(const MethodFormulas& method, const ServerScene& scene,
                                                     std::shared_ptr<const CohortNumbers> numbers);

}  // namespace fedhive::aggregation::formulas
