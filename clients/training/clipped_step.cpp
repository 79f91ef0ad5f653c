#include "clients/training/clipped_step.h"

#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

void ClippedStep::compute_gradient(std::span<const std::uint32_t> batch) {
    inner().compute_gradient(batch);
    const aggregation::ParamSpan gradient = inner().gradient();
    if (zeros_.span().size == 0) zeros_ = aggregation::ParamBuffer(gradient.size, gradient.space);
    const double norm = aggregation::write_update(gradient, gradient, zeros_).norm;
    if (norm > most_) aggregation::scale(gradient, gradient, most_ / norm);
}

}  // namespace fedhive::clients
