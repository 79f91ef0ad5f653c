// Augmentation of training examples: random crops and mirroring, drawn for each epoch. A look is what is drawn for one example in one
// epoch: its crop, and whether it is mirrored. Looks are drawn here on the host; gather_element.h applies them to values.
#pragma once

#include "clients/data/dataset.h"

#include <span>
#include <vector>

namespace fedhive::clients {

/// What a look depends on besides the example: the client's seed in the round, and the index of the epoch.
struct LookKey {
    std::uint64_t seed = 0;
    std::uint32_t epoch = 0;
};

/// Appends one packed element::Look per example, a function of (seed, epoch, example): shifts down and right are uniform in
/// [-padding, padding]; with `flip` an image is mirrored with probability 1/2.
///
/// Source   Lee et al. 2015 (arXiv:1409.5185), section 4.1, as He et al. 2016 (arXiv:1512.03385) train on CIFAR-10.
void append_looks(const Augmentation& augmentation, const LookKey& key, std::span<const std::uint32_t> examples,
                  std::vector<std::uint32_t>& looks);

/// Draws the looks of one batch after another into one buffer.
class Looks {
public:
    explicit Looks(const Augmentation& augmentation) : augmentation_(augmentation) {}

    /// Whether any augmentation is configured.
    bool any() const { return augmentation_.any(); }

    /// One look per example, valid until the next call; empty without augmentation.
    std::span<const std::uint32_t> of(const LookKey& key, std::span<const std::uint32_t> examples) {
        looks_.clear();
        if (augmentation_.any()) append_looks(augmentation_, key, examples, looks_);
        return looks_;
    }

private:
    Augmentation augmentation_;
    std::vector<std::uint32_t> looks_;
};

/// Throws ConfigError if examples to be augmented are not images.
void check_augmentation(const Augmentation& augmentation, const ExampleShape& shape);

}  // namespace fedhive::clients
