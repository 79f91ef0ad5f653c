#include "tests/support/plain_engine/network.h"

#include "aggregation/base/error.h"
#include "clients/models/model_plan.h"

#include <algorithm>

namespace fedhive::testing {

Network::Network(const clients::ModelSpec& spec) {
    std::string before = "flatten";
    for (const clients::PlannedLayer& layer : clients::plan_model(spec)) {
        const std::string& kind = layer.spec().name;
        const bool follows = kind == "linear" ? before != "linear"
                             : kind == "relu" ? before == "linear"
                                              : kind == "flatten" && layers_.empty();
        if (!follows)
            throw ConfigError(
                fmt::format("the plain engine has no layer '{}' here; it knows flatten, then linear with relu between", kind));
        if (kind == "linear")
            add(layer.name, static_cast<std::size_t>(layer.in[0]), static_cast<std::size_t>(layer.fit.out[0]));
        before = kind;
    }
    if (before != "linear") throw ConfigError("the plain engine ends with linear");
}

void Network::add(const std::string& name, std::size_t inputs, std::size_t outputs) {
    const auto rows = static_cast<std::int64_t>(outputs);
    layout_.add(name + ".weight", {rows, static_cast<std::int64_t>(inputs)});
    layout_.add(name + ".bias", {rows});
    const auto& entries = layout_.entries();
    layers_.push_back({inputs, outputs, entries[entries.size() - 2].offset, entries.back().offset});
    names_.push_back(name);
}

Values Network::forward(const float* parameters, Values x, std::size_t from, std::size_t to) {
    first_ = from;
    inputs_.clear();
    for (std::size_t l = from; l < to; ++l) {
        const Layer& layer = layers_[l];
        const std::size_t rows = x.size() / layer.inputs;
        Values y(rows * layer.outputs);
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t out = 0; out < layer.outputs; ++out) {
                float sum = parameters[layer.bias + out];
                for (std::size_t in = 0; in < layer.inputs; ++in)
                    sum += parameters[layer.weight + out * layer.inputs + in] * x[row * layer.inputs + in];
                y[row * layer.outputs + out] = l + 1 < layers_.size() ? std::max(sum, 0.0F) : sum;
            }
        inputs_.push_back(std::move(x));
        x = std::move(y);
    }
    inputs_.push_back(x);
    return x;
}

Values Network::backward(const float* parameters, float* gradient, Values of_output) const {
    for (std::size_t i = inputs_.size() - 1; i-- > 0;) {
        const std::size_t l = first_ + i;
        const Layer& layer = layers_[l];
        const Values& x = inputs_[i];
        if (l + 1 < layers_.size())
            for (std::size_t k = 0; k < of_output.size(); ++k)
                if (inputs_[i + 1][k] <= 0.0F) of_output[k] = 0.0F;
        std::fill_n(gradient + layer.weight, layer.inputs * layer.outputs, 0.0F);
        std::fill_n(gradient + layer.bias, layer.outputs, 0.0F);
        Values of_x(x.size(), 0.0F);
        for (std::size_t row = 0; row < x.size() / layer.inputs; ++row)
            for (std::size_t out = 0; out < layer.outputs; ++out) {
                const float g = of_output[row * layer.outputs + out];
                gradient[layer.bias + out] += g;
                for (std::size_t in = 0; in < layer.inputs; ++in) {
                    const std::size_t weight = layer.weight + out * layer.inputs + in;
                    gradient[weight] += g * x[row * layer.inputs + in];
                    of_x[row * layer.inputs + in] += g * parameters[weight];
                }
            }
        of_output = std::move(of_x);
    }
    return of_output;
}

}  // namespace fedhive::testing
