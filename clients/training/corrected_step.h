// A training step whose gradients are corrected by what a client and the server keep of earlier rounds (SCAFFOLD).
#pragma once

#include "aggregation/math/control_variates.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/training/wrapped_step.h"

namespace fedhive::clients {

/// g becomes g + c - c_k, once it is what the objective makes of it and no longer than a limit lets it be; the optimiser sees no other.
///
/// Memory   the gradient in one piece, and the correction.
/// Source   Karimireddy et al. 2020 (arXiv:1910.06378), Algorithm 1, line 10.
class CorrectedStep final : public WrappedStep {
public:
    explicit CorrectedStep(TrainingStep& step) : WrappedStep(step) {}

    /// Before a client begins. control: c; state: c_k, in host memory, empty: 0. Both [trainable].
    void correct(aggregation::ConstParamSpan control, aggregation::ConstParamSpan state) {
        if (correction_.span().size == 0) correction_ = aggregation::ParamBuffer(control.size, control.space);
        aggregation::write_correction(correction_, control, state);
    }

    void compute_gradient(std::span<const std::uint32_t> batch) override {
        inner().compute_gradient(batch);
        aggregation::add(inner().gradient(), correction_);
    }

private:
    aggregation::ParamBuffer correction_;  // [trainable], once it is known
};

}  // namespace fedhive::clients
