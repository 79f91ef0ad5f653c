// What every model is to the rest of the house: examples in, one score per class out, by layers between which it can be cut. To add a model:
// write its file with a function that builds it, declare the function here, add its name to kModelNames and its line to catalog.cpp.
#pragma once

#include "clients/models/catalog.h"
#include "clients/models/layers.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::clients {

/// Layers with parameters, in forward order, each with what follows it up to the next one.
class Classifier {
public:
    explicit Classifier(std::vector<Layer> layers) : layers_(std::move(layers)) {}
    Classifier(const Classifier&) = delete;
    Classifier& operator=(const Classifier&) = delete;
    virtual ~Classifier() = default;

    /// examples: [B, channels, height, width] f32, normalised; returns logits [B, num_classes].
    at::Tensor forward(const at::Tensor& examples);

    /// Layers [first, last) alone: from what layer `first` takes to what layer `last - 1` gives.
    at::Tensor forward_layers(at::Tensor x, std::size_t first, std::size_t last);

    const std::vector<Layer>& layers() const { return layers_; }
    std::vector<Layer>& layers() { return layers_; }

    /// Their weights and biases, in order, by the names they have in a PyTorch state_dict: "conv1.weight", "conv1.bias", …
    std::vector<std::pair<std::string, at::Tensor>> parameters() const;

    /// Dropout acts in training; a model is built so.
    bool is_training() const { return training_; }
    void train(bool on = true) { training_ = on; }
    void eval() { train(false); }

    /// Shape of what the first `num_layers` layers make of one example, without the batch dimension. Leaves the model in evaluation mode.
    std::vector<std::int64_t> activation_shape(ExampleShape input, std::size_t num_layers);

private:
    virtual at::Tensor forward_layer(std::size_t layer, const at::Tensor& x) = 0;

    std::vector<Layer> layers_;
    bool training_ = true;
};

/// Its parameters hold anything: initial_parameters() draws them. Throws ConfigError for a name that is not in kModelNames, or a model that
/// does not fit spec.input.
std::unique_ptr<Classifier> build_model(const ModelSpec& spec);

std::unique_ptr<Classifier> build_lr(const ModelSpec& spec);
std::unique_ptr<Classifier> build_mlp(const ModelSpec& spec);
std::unique_ptr<Classifier> build_mnist_cnn(const ModelSpec& spec);
std::unique_ptr<Classifier> build_cnn_m(const ModelSpec& spec);

}  // namespace fedhive::clients
