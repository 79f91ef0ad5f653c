// Fully connected layers with ReLU between them, in plain loops, as lr and mlp, for programs without LibTorch. Correct and
// slow; its bits equal no other engine's.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/models/catalog.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fedhive::testing {

using Values = std::vector<float>;  // [rows, features]

class Network {
public:
    /// Throws ConfigError for a model with other layers.
    explicit Network(const clients::ModelSpec& spec);

    const aggregation::Layout& layout() const { return layout_; }
    const std::vector<std::string>& names() const { return names_; }  // of the layers
    std::size_t width_after(std::size_t layer) const { return layers_[layer].outputs; }

    /// Output of layers [from, to) for `x`. Keeps what backward() needs.
    Values forward(const float* parameters, Values x, std::size_t from, std::size_t to);

    /// Writes the gradients of the last forward()'s layers; returns the gradient of its x. `of_output`: [rows, outputs].
    Values backward(const float* parameters, float* gradient, Values of_output) const;

private:
    struct Layer {
        std::size_t inputs, outputs;
        std::size_t weight, bias;  // offsets in the parameters
    };
    void add(const std::string& name, std::size_t inputs, std::size_t outputs);

    std::vector<Layer> layers_;
    std::vector<std::string> names_;
    aggregation::Layout layout_;
    std::size_t first_ = 0;       // of the last forward()
    std::vector<Values> inputs_;  // of its layers
};

}  // namespace fedhive::testing
