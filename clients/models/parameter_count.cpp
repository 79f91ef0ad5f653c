#include "clients/models/parameter_count.h"

#include <string>

namespace fedhive::clients {

namespace {

/// Of a linear layer with bias; a convolution is one over a patch of all its channels.
double num_linear(double inputs, double outputs) { return (inputs + 1.0) * outputs; }

double num_conv(double channels, double side, double maps) { return num_linear(channels * side * side, maps); }

}  // namespace

double num_parameters(const ModelSpec& spec) {
    const std::string name = spec.name.get();
    const auto inputs = static_cast<double>(spec.input.num_values());
    const auto classes = static_cast<double>(spec.num_classes);
    const auto hidden = static_cast<double>(spec.hidden);
    if (name == "lr") return num_linear(inputs, classes);
    if (name == "mlp") return num_linear(inputs, hidden) + num_linear(hidden, hidden) + num_linear(hidden, classes);
    if (name == "mnist_cnn") return num_conv(1, 5, 10) + num_conv(10, 5, 20) + num_linear(320, 50) + num_linear(50, classes);
    if (name != "cnn_m") return 0.0;
    const auto pooled = [](std::int64_t side) { return static_cast<double>((side - 4) >> 1); };
    const double pixels = pooled(spec.input.height) * pooled(spec.input.width);
    return num_conv(static_cast<double>(spec.input.channels), 3, 32) + num_conv(32, 3, 64) + num_linear(64 * pixels, 128) +
           num_linear(128, classes);
}

}  // namespace fedhive::clients
