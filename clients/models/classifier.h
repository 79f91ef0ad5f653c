// What every model is to the rest of the house: examples in, one score per class out, by layers between which it can be cut. To add a model:
// write its file with a function that builds it, declare the function here, add its name to kModelNames and its line to catalog.cpp.
#pragma once

#include "clients/models/catalog.h"

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace fedhive::clients {

/// A layer is a registered submodule with what follows it up to the next one; layers are registered in forward order.
struct Classifier : torch::nn::Module {
    /// examples: [B, channels, height, width] f32, normalised; returns logits [B, num_classes].
    torch::Tensor forward(const torch::Tensor& examples);

    /// Layers [first, last) alone: from what layer `first` takes to what layer `last - 1` gives.
    torch::Tensor forward_layers(torch::Tensor x, std::size_t first, std::size_t last);

    std::size_t num_layers() const { return children().size(); }
    std::vector<std::string> layers() const { return named_children().keys(); }

    /// Shape of what the first `num_layers` layers make of one example, without the batch dimension. Leaves the model in evaluation mode.
    std::vector<std::int64_t> activation_shape(ExampleShape input, std::size_t num_layers);

private:
    virtual torch::Tensor forward_layer(std::size_t layer, const torch::Tensor& x) = 0;
};

/// Throws ConfigError for a name that is not in kModelNames, or a model that does not fit spec.input.
std::shared_ptr<Classifier> build_model(const ModelSpec& spec);

std::shared_ptr<Classifier> build_lr(const ModelSpec& spec);
std::shared_ptr<Classifier> build_mlp(const ModelSpec& spec);
std::shared_ptr<Classifier> build_mnist_cnn(const ModelSpec& spec);
std::shared_ptr<Classifier> build_cnn_m(const ModelSpec& spec);

}  // namespace fedhive::clients
