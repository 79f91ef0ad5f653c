// A CNN of a million parameters: conv3(c->32) relu, conv3(32->64) relu, pool, dropout .25, fc ->128 relu, dropout .5, 128->classes.
// 1,199,882 parameters on MNIST shapes (fc 9216->128), 1,626,442 on CIFAR shapes (fc 12544->128).
#include "aggregation/base/error.h"
#include "clients/models/classifier.h"
#include "clients/models/relu_max_pool.h"

#include <ATen/ops/dropout.h>

namespace fedhive::clients {

namespace {

/// Two 3 x 3 convolutions without padding, then a 2 x 2 pool.
std::int64_t pooled(std::int64_t side) { return (side - 4) / 2; }

struct CnnM final : Classifier {
    explicit CnnM(const ModelSpec& spec)
        : Classifier({conv2d("conv1", spec.input.channels, 32, 3), conv2d("conv2", 32, 64, 3),
                      linear("fc1", 64 * pooled(spec.input.height) * pooled(spec.input.width), 128),
                      linear("fc2", 128, spec.num_classes)}),
          dropout(spec.dropout) {}

    at::Tensor forward_layer(std::size_t layer, const at::Tensor& x) override {
        const at::Tensor out = layers()[layer].forward(layer == 2 ? x.flatten(1) : x);
        switch (layer) {
            case 0:
                return out.relu();
            case 1: {
                const at::Tensor maps = relu_max_pool(out);
                return dropout ? at::dropout(maps, 0.25, is_training()) : maps;
            }
            case 2: {
                const at::Tensor units = out.relu();
                return dropout ? at::dropout(units, 0.5, is_training()) : units;
            }
            default:
                return out;
        }
    }

    bool dropout;
};

}  // namespace

std::unique_ptr<Classifier> build_cnn_m(const ModelSpec& spec) {
    if (pooled(spec.input.height) < 1 || pooled(spec.input.width) < 1)
        throw ConfigError(
            fmt::format("cnn_m takes examples of at least 6 x 6 pixels, the data's are {} x {}; for such data use mlp or lr",
                        spec.input.height, spec.input.width));
    return std::make_unique<CnnM>(spec);
}

}  // namespace fedhive::clients
