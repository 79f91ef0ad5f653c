// The small CNN of the PyTorch MNIST tutorials: conv5(1->10) pool relu, conv5(10->20) dropout2d pool relu, fc 320->50 relu dropout, 50->10;
// 21,840 parameters. The flattened size is fixed by 1 x 28 x 28 inputs.
#include "aggregation/base/error.h"
#include "clients/models/classifier.h"
#include "clients/models/relu_max_pool.h"

#include <ATen/ops/dropout.h>
#include <ATen/ops/feature_dropout.h>

namespace fedhive::clients {

namespace {

struct MnistCnn final : Classifier {
    explicit MnistCnn(const ModelSpec& spec)
        : Classifier({conv2d("conv1", 1, 10, 5), conv2d("conv2", 10, 20, 5), linear("fc1", 320, 50),
                      linear("fc2", 50, spec.num_classes)}),
          dropout(spec.dropout) {}

    at::Tensor forward_layer(std::size_t layer, const at::Tensor& x) override {
        at::Tensor out = layers()[layer].forward(x);
        switch (layer) {
            case 0:
                return relu_max_pool(out);
            case 1:
                if (dropout) out = at::feature_dropout(out, 0.5, is_training());
                return relu_max_pool(out).flatten(1);
            case 2:
                out = out.relu();
                return dropout ? at::dropout(out, 0.5, is_training()) : out;
            default:
                return out;
        }
    }

    bool dropout;
};

}  // namespace

std::unique_ptr<Classifier> build_mnist_cnn(const ModelSpec& spec) {
    if (spec.input != ExampleShape{1, 28, 28})
        throw ConfigError(fmt::format(
            "mnist_cnn takes examples of 1 x 28 x 28, the data's are {} x {} x {}; for other shapes use cnn_m, mlp or lr",
            spec.input.channels, spec.input.height, spec.input.width));
    return std::make_unique<MnistCnn>(spec);
}

}  // namespace fedhive::clients
