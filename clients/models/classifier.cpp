#include "clients/models/classifier.h"

namespace fedhive::clients {

torch::Tensor Classifier::forward(const torch::Tensor& examples) { return forward_layers(examples, 0, num_layers()); }

torch::Tensor Classifier::forward_layers(torch::Tensor x, std::size_t first, std::size_t last) {
    for (std::size_t layer = first; layer < last; ++layer) x = forward_layer(layer, x);
    return x;
}

std::vector<std::int64_t> Classifier::activation_shape(ExampleShape input, std::size_t num_layers) {
    const torch::NoGradGuard no_grad;
    eval();
    const torch::Tensor example =
        torch::zeros({1, input.channels, input.height, input.width}, parameters().front().options().requires_grad(false));
    return forward_layers(example, 0, num_layers).sizes().slice(1).vec();
}

}  // namespace fedhive::clients
