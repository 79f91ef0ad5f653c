// A training step that follows no gradient longer than it is told: whoever computes it, between its two halves.
#pragma once

#include "aggregation/memory/param_buffer.h"
#include "clients/training/wrapped_step.h"

namespace fedhive::clients {

/// A gradient g of a batch, with the objective's terms, becomes g * min(1, most / |g|), the Euclidean norm over all parameters.
///
/// Order    the norm is summed as an update's is (vector_ops.h): same bits anywhere.
/// Memory   the gradient in one piece, and as many zeros.
/// Stream   waits for the device in every step.
/// Source   Pascanu et al. 2013 (arXiv:1211.5063), Algorithm 1; torch.nn.utils.clip_grad_norm_, without its 1e-6 beside the norm.
class ClippedStep final : public WrappedStep {
public:
    ClippedStep(TrainingStep& step, double most) : WrappedStep(step), most_(most) {}
    void compute_gradient(std::span<const std::uint32_t> batch) override;

private:
    double most_;
    aggregation::ParamBuffer zeros_;  // [trainable], once it is known
};

}  // namespace fedhive::clients
