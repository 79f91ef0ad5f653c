// What every model is to the rest of the house: examples in, one score per class out. To add a model: write its file with a function that
// builds it, declare the function here, add its name to kModelNames and its line to catalog.cpp.
#pragma once

#include "clients/models/catalog.h"

#include <torch/torch.h>

#include <memory>

namespace fedhive::clients {

struct Classifier : torch::nn::Module {
    /// examples: [B, channels, height, width] f32, normalised; returns logits [B, num_classes].
    virtual torch::Tensor forward(const torch::Tensor& examples) = 0;
};

/// Throws ConfigError for a name that is not in kModelNames, or a model that does not fit spec.input.
std::shared_ptr<Classifier> build_model(const ModelSpec& spec);

std::shared_ptr<Classifier> build_lr(const ModelSpec& spec);
std::shared_ptr<Classifier> build_mlp(const ModelSpec& spec);
std::shared_ptr<Classifier> build_mnist_cnn(const ModelSpec& spec);
std::shared_ptr<Classifier> build_cnn_m(const ModelSpec& spec);

}  // namespace fedhive::clients
