#include "clients/models/classifier.h"

namespace fedhive::clients {

at::Tensor Classifier::forward(const at::Tensor& examples) { return forward_layers(examples, 0, layers_.size()); }

at::Tensor Classifier::forward_layers(at::Tensor x, std::size_t first, std::size_t last) {
    for (std::size_t layer = first; layer < last; ++layer) x = forward_layer(layer, x);
    return x;
}

std::vector<std::pair<std::string, at::Tensor>> Classifier::parameters() const {
    std::vector<std::pair<std::string, at::Tensor>> named;
    for (const Layer& layer : layers_) {
        named.emplace_back(layer.name + ".weight", layer.weight);
        named.emplace_back(layer.name + ".bias", layer.bias);
    }
    return named;
}

std::vector<std::int64_t> Classifier::activation_shape(ExampleShape input, std::size_t num_layers) {
    const at::NoGradGuard no_grad;
    eval();
    const at::Tensor example =
        at::zeros({1, input.channels, input.height, input.width}, layers_.front().weight.options().requires_grad(false));
    return forward_layers(example, 0, num_layers).sizes().slice(1).vec();
}

}  // namespace fedhive::clients
