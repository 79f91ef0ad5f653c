// FedProx's term as a pass over elements, for tests:  g <- g + mu (w - w_t).
#pragma once

#include "aggregation/formulas/cohort_values.h"
#include "aggregation/formulas/executor.h"
#include "aggregation/formulas/method_formulas.h"

namespace fedhive::testing {

inline aggregation::formulas::MethodFormulas proximal_formulas(float mu) {
    return {.keys = {{"mu", static_cast<double>(mu)}},
            .lines = {{aggregation::formulas::Place::Gradient, {"g = g + mu * (w - w_t)"}}}};
}

/// sent: w_t, which must outlive the pass.
inline aggregation::formulas::GradientPass proximal_pass(float mu, aggregation::ConstParamSpan sent) {
    const aggregation::formulas::MethodFormulas method = proximal_formulas(mu);
    aggregation::formulas::Executor executor(method.of_vectors(aggregation::formulas::Place::Gradient));
    aggregation::formulas::set_keys(executor, method);
    executor.set("w_t", sent);
    return executor.gradient_pass();
}

}  // namespace fedhive::testing
