// Fully connected layers with ReLU between them, in plain loops, as lr and mlp are, for programs without LibTorch. What it
// computes is right and slow; its bits are its own.
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
    /// Throws ConfigError for a model that is not made of such layers.
    explicit Network(const clients::ModelSpec& spec);

    const aggregation::Layout& layout() const { return layout_; }
    const std::vector<std::string>& names() const { return names_; }  // of the layers
    std::size_t width_after(std::size_t layer) const { return layers_[layer].outputs; }

    /// What layers [from, to) make of `x`. Keeps what backward() needs.
    Values forward(const float* parameters, Values x, std::size_t from, std::size_t to);

    /// Of the layers of the last forward(): their gradients, written, and the gradient of its x, returned. `of_output`: [rows, outputs].
    Values backward(const float* parameters, float* gradient, Values of_output) const;

private:
    struct Layer {
        std::size_t inputs, outputs;
        std::size_t weight, bias;  // where they begin in the parameters
    };
    void add(const std::string& name, std::size_t inputs, std::size_t outputs);

    std::vector<Layer> layers_;
    std::vector<std::string> names_;
    aggregation::Layout layout_;
    std::size_t first_ = 0;       // of the last forward()
    std::vector<Values> inputs_;  // of its layers
};

}  // namespace fedhive::testing
