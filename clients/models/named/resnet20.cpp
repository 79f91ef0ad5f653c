// ResNet-20 of He et al. 2016, "Deep Residual Learning for Image Recognition" (arXiv:1512.03385), section 4.2: the network for
// CIFAR-10 with n = 3, three stages of three blocks of 16, 32 and 64 channels.
//
// Differs   the paper's shortcuts on CIFAR-10 have no parameters (option A: every other pixel, and zeros for new channels),
//           269,722 parameters in all, its "0.27M". Here they are projections (option B), two convolutions
//           and norms of 2,752: 272,474 parameters.
#include "clients/models/named/residual_blocks.h"
#include "clients/models/named/smallest_image.h"

namespace fedhive::clients {

NamedModel resnet20_model() {
    return {.name = "resnet20",
            .summary = "the residual network for CIFAR-10, with 0.27 million parameters, for images of at least 8 x 8",
            .source = "arXiv:1512.03385, section 4.2",
            .keys = norm_keys(),
            .layers = [](const Values& values) { return ResidualBlocks(values).layers(16, 3, 3); },
            .misfit = [](const ExampleShape& input) { return below("resnet20", 8, input); }};
}

}  // namespace fedhive::clients
