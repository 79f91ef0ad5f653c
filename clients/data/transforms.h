// Augmentation of training images: random crops and mirroring, drawn anew for each example in each epoch. The draws are made here on the
// host; gather_element.h applies them to values.
#pragma once

#include "clients/data/dataset.h"

#include <span>
#include <vector>

namespace fedhive::clients {

/// The key of an example's draw, besides its index.
struct TransformKey {
    std::uint64_t seed = 0;   // the client's, in this round
    std::uint32_t epoch = 0;  // index in this round
};

/// Appends one packed element::Transform per example, a function of (seed, epoch, example): shifts down and right are uniform in
/// [-padding, padding]; with `flip` an image is mirrored with probability 1/2.
///
/// Source   Lee et al. 2015 (arXiv:1409.5185), section 4.1, as He et al. 2016 (arXiv:1512.03385) train on CIFAR-10.
void append_transforms(const Augmentation& augmentation, const TransformKey& key, std::span<const std::uint32_t> examples,
                       std::vector<std::uint32_t>& transforms);

/// Draws the transforms of one batch after another into one buffer.
class Transforms {
public:
    explicit Transforms(const Augmentation& augmentation) : augmentation_(augmentation) {}

    /// Whether any augmentation is configured.
    bool any() const { return augmentation_.any(); }

    /// One transform per example, valid until the next call; empty without augmentation.
    std::span<const std::uint32_t> of(const TransformKey& key, std::span<const std::uint32_t> examples) {
        transforms_.clear();
        if (augmentation_.any()) append_transforms(augmentation_, key, examples, transforms_);
        return transforms_;
    }

private:
    Augmentation augmentation_;
    std::vector<std::uint32_t> transforms_;
};

/// Throws ConfigError if examples to be augmented are not images.
void check_augmentation(const Augmentation& augmentation, const ExampleShape& shape);

}  // namespace fedhive::clients
