// Residual networks of basic blocks (He et al. 2016, arXiv:1512.03385), in the form for small images: a 3 x 3 convolution, stages of blocks
// with two 3 x 3 convolutions each, the mean of each channel, softmax. Tensors have the names of torchvision's ResNet, so both have the
// same state_dict.
//
//   block    conv1 bn1 relu conv2 bn2, plus the input, relu; the first block of a later stage halves the image and doubles the
//            channels, and its input passes a 1 x 1 convolution of stride 2 and a norm ("option B" of
//            the paper, downsample in torchvision)
//   norm     batch norm, as in the paper, or group norm (Hsieh et al. 2020, arXiv:1910.00189), which uses one example at a time
//   Differs  initial values are torch.nn's defaults; the paper draws by He's rule
#pragma once

#include "clients/models/catalog.h"

#include <fmt/format.h>

namespace fedhive::clients {

enum class BlockNorm { Group, Batch };
constexpr auto all_words(BlockNorm) { return std::array{"group", "batch"}; }

inline std::vector<KeySpec> norm_keys() {
    return {{.name = "norm",
             .default_value = BlockNorm::Group,
             .choices = words_of<BlockNorm>(),
             .doc = "The norm after each convolution. group: group_norm, the usual choice in federated learning "
                    "(arXiv:2003.00295), because clients' statistics differ (arXiv:1910.00189); batch: batch_norm, as in the "
                    "paper; docs/models.md lists its limits."},
            {.name = "groups",
             .default_value = std::int64_t{2},
             .range = between(1, kWide),
             .with = KeySpec::Companion{"norm", {word_of(BlockNorm::Group)}},
             .doc = "Number of channel groups of each norm; it must divide the channels; 2 in arXiv:2003.00295."}};
}

class ResidualBlocks {
public:
    explicit ResidualBlocks(const Values& values)
        : batch_(values.choice<BlockNorm>("norm") == BlockNorm::Batch),
          groups_(batch_ ? 0.0F : static_cast<float>(values.integer("groups"))) {}

    /// The network with `channels` channels in its first stage, twice as many in each
    /// further stage, and `blocks` blocks in each.
    LayerList layers(int channels, int stages, int blocks) {
        convolution(channels, 3, 1, "conv1");
        norm("bn1");
        list_.add("relu");
        for (int stage = 0; stage < stages; ++stage)
            for (int i = 0; i < blocks; ++i)
                block(channels << stage, stage > 0 && i == 0, fmt::format("layer{}.{}", stage + 1, i));
        return list_.add("avg_pool").add("flatten").add("linear", {}, "fc");
    }

private:
    void convolution(int channels, int kernel, int stride, const char* name) {
        const int padding = kernel / 2, conv_groups = 1, bias = 0;
        std::vector<float> arguments;
        for (const int argument : {channels, kernel, stride, padding, conv_groups, bias})
            arguments.push_back(static_cast<float>(argument));
        list_.add("conv2d", arguments, name);
    }

    void norm(const char* name) {
        if (batch_)
            list_.add("batch_norm", {}, name);
        else
            list_.add("group_norm", {groups_}, name);
    }

    void block(int channels, bool halves, const std::string& name) {
        list_.add("residual", {}, name);
        convolution(channels, 3, halves ? 2 : 1, "conv1");
        norm("bn1");
        list_.add("relu");
        convolution(channels, 3, 1, "conv2");
        norm("bn2");
        if (halves) {
            list_.shortcut("downsample");
            convolution(channels, 1, 2, "");
            norm("");
        }
        list_.end().add("relu");
    }

    bool batch_;
    float groups_;
    LayerList list_;
};

}  // namespace fedhive::clients
