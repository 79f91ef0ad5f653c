#include "clients/data/transforms.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/gather_element.h"

namespace fedhive::clients {

void append_transforms(const Augmentation& augmentation, const TransformKey& key, std::span<const std::uint32_t> examples,
                       std::vector<std::uint32_t>& transforms) {
    const auto padding = static_cast<std::int32_t>(augmentation.padding);
    for (const std::uint32_t example : examples) {
        Stream stream(key.seed, Purpose::Transforms, key.epoch, example);
        const auto shift = [&] { return static_cast<std::int32_t>(stream.below(2 * augmentation.padding + 1)) - padding; };
        element::Transform transform;
        transform.down = shift();
        transform.right = shift();
        transform.mirrored = augmentation.flip && stream.below(2) == 1;
        transforms.push_back(transform.packed());
    }
}

void check_augmentation(const Augmentation& augmentation, const ExampleShape& shape) {
    if (!augmentation.any() || (shape.vocabulary == 0 && shape.height * shape.width > 1)) return;
    throw ConfigError(fmt::format("needs images, but the data's examples are {}; remove crop_padding and flip",
                                  shape.vocabulary > 0 ? "tokens" : fmt::format("features in a row, {}", shape.channels)));
}

}  // namespace fedhive::clients
