// A CNN of a million parameters: conv3(c->32) relu, conv3(32->64) relu, pool, dropout .25, fc ->128 relu, dropout .5, 128->classes.
// 1,199,882 parameters on MNIST shapes (fc 9216->128), 1,626,442 on CIFAR shapes (fc 12544->128).
#include "aggregation/base/error.h"
#include "clients/models/classifier.h"
#include "clients/models/layers.h"
#include "clients/models/relu_max_pool.h"

namespace fedhive::clients {

namespace {

/// Two 3 x 3 convolutions without padding, then a 2 x 2 pool.
std::int64_t pooled(std::int64_t side) { return (side - 4) / 2; }

struct CnnM final : Classifier {
    explicit CnnM(const ModelSpec& spec)
        : conv1(register_module("conv1", torch::nn::Conv2d(spec.input.channels, 32, 3))),
          conv2(register_module("conv2", torch::nn::Conv2d(32, 64, 3))),
          fc1(register_module("fc1", torch::nn::Linear(64 * pooled(spec.input.height) * pooled(spec.input.width), 128))),
          fc2(register_module("fc2", torch::nn::Linear(128, spec.num_classes))),
          dropout(spec.dropout) {}

    torch::Tensor forward_layer(std::size_t layer, const torch::Tensor& x) override {
        switch (layer) {
            case 0:
                return torch::relu(forward_conv2d(conv1, x));
            case 1: {
                const torch::Tensor maps = relu_max_pool(forward_conv2d(conv2, x));
                return dropout ? torch::dropout(maps, 0.25, is_training()) : maps;
            }
            case 2: {
                const torch::Tensor units = torch::relu(forward_linear(fc1, x.flatten(1)));
                return dropout ? torch::dropout(units, 0.5, is_training()) : units;
            }
            default:
                return forward_linear(fc2, x);
        }
    }

    torch::nn::Conv2d conv1, conv2;
    torch::nn::Linear fc1, fc2;
    bool dropout;
};

}  // namespace

std::shared_ptr<Classifier> build_cnn_m(const ModelSpec& spec) {
    if (pooled(spec.input.height) < 1 || pooled(spec.input.width) < 1)
        throw ConfigError(
            fmt::format("cnn_m takes examples of at least 6 x 6 pixels, the data's are {} x {}; for such data use mlp or lr",
                        spec.input.height, spec.input.width));
    return std::make_shared<CnnM>(spec);
}

}  // namespace fedhive::clients
