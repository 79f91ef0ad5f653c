// LibTorch's forward and backward (convolutions by oneDNN) of the layers that the direct engine runs as one operation.
#pragma once

#include "aggregation/base/clock.h"
#include "clients/models/forward.h"
#include "clients/models/model_plan.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace fedhive::bench {

class LibtorchLayers {
public:
    using Layers = std::vector<const clients::PlannedLayer*>;

    /// Minimal seconds; infinite if not measured.
    struct Figures {
        double forward = kNever, data_gradient = kNever, weight_gradient = kNever;
    };

    /// Whether LibTorch can time the layers one by one. A residual contains layers, and tokens have no gradient: it cannot time these.
    static bool has(const Layers& layers) {
        return !layers.empty() && std::ranges::none_of(layers, [](const auto* layer) {
            return layer->spec().holds_layers || layer->spec().takes_tokens;
        });
    }

    /// The layers in sequence, with random inputs of `batch` examples; the input gradient is timed only if `asked_for`.
    LibtorchLayers(const Layers& layers, std::int64_t batch, bool asked_for) : asked_for_(asked_for) {
        std::vector<std::int64_t> in{batch};
        in.insert(in.end(), layers.front()->in.begin(), layers.front()->in.end());
        x_ = at::randn(in).set_requires_grad(true);
        for (const clients::PlannedLayer* layer : layers) {
            One& one = layers_.emplace_back();
            one.forward = clients::make_forward(layer->kind, layer->arguments, layer->in);
            for (const clients::Parameter& parameter : layer->fit.parameters) {
                one.parameters.push_back(at::randn(parameter.shape).mul_(0.1).set_requires_grad(true));
                parameters_.push_back(one.parameters.back());
            }
            for (const clients::Parameter& buffer : layer->fit.buffers) one.parameters.push_back(at::ones(buffer.shape));
        }
        y_gradient_ = at::randn(forward().sizes());
    }

    /// Measures once more.
    void run() {
        at::Tensor y;
        shorten(figures_.forward, seconds_of([&] { y = forward(); }));
        // Layers without parameters cost the same in both passes; the difference is the parameters' share.
        if (asked_for_) shorten(figures_.data_gradient, seconds_of([&] { back(y, {x_}); }));
        if (parameters_.empty()) return;
        std::vector<at::Tensor> all = parameters_;
        if (asked_for_) all.push_back(x_);
        shorten(both_, seconds_of([&] { back(y, all); }));
        figures_.weight_gradient = asked_for_ ? std::max(0.0, both_ - figures_.data_gradient) : both_;
    }

    const Figures& figures() const { return figures_; }

private:
    static constexpr double kNever = std::numeric_limits<double>::infinity();

    struct One {
        clients::Forward forward;
        std::vector<at::Tensor> parameters;  // then buffers
    };

    at::Tensor forward() const {
        at::Tensor y = x_;
        for (const One& one : layers_) y = one.forward(one.parameters, y, true);
        return y;
    }
    void back(const at::Tensor& y, const std::vector<at::Tensor>& to) const {
        torch::autograd::grad({y}, to, {y_gradient_}, /*retain_graph=*/true);
    }
    template <typename Work>
    static double seconds_of(const Work& work) {
        const std::int64_t start = now_ns();
        work();
        return seconds_between(start, now_ns());
    }
    static void shorten(double& least, double seconds) { least = std::min(least, seconds); }

    bool asked_for_;
    at::Tensor x_, y_gradient_;
    std::vector<One> layers_;
    std::vector<at::Tensor> parameters_;
    double both_ = kNever;
    Figures figures_;
};

}  // namespace fedhive::bench
