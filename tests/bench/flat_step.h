// A model with flat parameters, gradient and momentum, one tensor each, and SGD over them in a few operations: the local step
// of the ideal GPU loop (ideal_gpu.cpp).
#pragma once

#include "aggregation/base/error.h"
#include "clients/models/flat_model.h"

#include <ATen/ATen.h>

namespace fedhive::testing {

class FlatStep {
public:
    FlatStep(const clients::ModelSpec& spec, aggregation::MemorySpace space, double rate, double momentum)
        : model_(spec, space),
          rate_(rate),
          momentum_(momentum),
          parameters_(flat(model_.parameters())),
          trainable_(flat(model_.trainable())),
          gradient_(flat(model_.gradient())),
          velocity_(at::zeros_like(gradient_)) {
        model_.module().train();
        // backward() accumulates into existing gradients: each is a view of the flat gradient.
        std::size_t index = 0;
        for (at::Tensor* tensor : model_.module().tensors()) {
            const aggregation::LayoutEntry& entry = model_.layout().entries()[index++];
            const auto first = static_cast<std::int64_t>(entry.offset), size = static_cast<std::int64_t>(entry.size);
            tensor->mutable_grad() = gradient_.narrow(0, first, size).view(entry.shape);
        }
    }

    const aggregation::Layout& layout() const { return model_.layout(); }
    const at::Tensor& parameters() const { return parameters_; }  // [P]

    void begin(const at::Tensor& global) {
        parameters_.copy_(global);
        if (momentum_ > 0.0) velocity_.zero_();
    }

    void step(const at::Tensor& examples, const at::Tensor& labels) {
        gradient_.zero_();
        at::cross_entropy_loss(model_.module().forward(examples), labels).backward();
        if (momentum_ > 0.0) velocity_.mul_(momentum_).add_(gradient_);
        trainable_.add_(momentum_ > 0.0 ? velocity_ : gradient_, -rate_);
    }

private:
    at::Tensor flat(aggregation::ParamSpan span) const {
        return at::from_blob(span.data, {static_cast<std::int64_t>(span.size)}, at::TensorOptions().device(model_.device()));
    }

    clients::FlatModel model_;
    double rate_, momentum_;
    at::Tensor parameters_, trainable_, gradient_, velocity_;
};

}  // namespace fedhive::testing
