// An engine's evaluation, as sums by name.
#pragma once

#include "clients/engine/training_step.h"
#include "tests/support/sums_by_name.h"

#include <cstdint>
#include <span>

namespace fedhive::testing {

/// One pass over `indices`, with the model that the evaluation has begun.
inline Evaluated evaluated(clients::Evaluation& evaluation, const clients::ExamplesView& from,
                           std::span<const std::uint32_t> indices) {
    clients::EvaluationSums sums = empty_sums(from.target.kind);
    evaluation.evaluate(from, indices, sums);
    return by_name(sums, from.target.kind);
}

inline Evaluated evaluated_range(clients::Evaluation& evaluation, aggregation::ConstParamSpan model,
                                 const clients::ExamplesView& from, std::uint64_t first, std::uint64_t count) {
    clients::EvaluationSums sums = empty_sums(from.target.kind);
    evaluation.evaluate_range(model, from, first, count, sums);
    return by_name(sums, from.target.kind);
}

}  // namespace fedhive::testing
