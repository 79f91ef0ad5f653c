// ResNet-18 of He et al. 2016 (arXiv:1512.03385), table 1: four stages of two blocks with 64 to 512 channels, in the usual form
// for small images: a 3 x 3 convolution of stride 1 instead of the 7 x 7 one of stride 2, and no pool after it. 11,173,962
// parameters for ten classes and three channels. With group norm it is the network of Reddi et al. 2021
// (arXiv:2003.00295) on CIFAR-10 and CIFAR-100.
#include "clients/models/named/residual_blocks.h"
#include "clients/models/named/smallest_image.h"

namespace fedhive::clients {

NamedModel resnet18_model() {
    return {.name = "resnet18",
            .summary =
                "the smallest residual network for ImageNet, adapted to images of at least 8 x 8, with 11 million parameters",
            .source = "arXiv:1512.03385, table 1; with group norm arXiv:2003.00295",
            .keys = norm_keys(),
            .layers = [](const Values& values) { return ResidualBlocks(values).layers(64, 4, 2); },
            .misfit = [](const ExampleShape& input) { return below("resnet18", 8, input); }};
}

}  // namespace fedhive::clients
