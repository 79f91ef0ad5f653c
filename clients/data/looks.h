// How training examples are seen: as they are, or cropped and mirrored anew in each epoch. A look is drawn here, on the host, from keys alone; what
// it makes of a value is in gather_element.h.
#pragma once

#include "clients/data/dataset.h"

#include <span>
#include <vector>

namespace fedhive::clients {

/// What an epoch's looks are keyed by, besides the example: a number of the client's own in the round, and which of its epochs.
struct LookKey {
    std::uint64_t seed = 0;
    std::uint32_t epoch = 0;
};

/// Appends one for each example (element::Look, packed), by (seed, epoch, example) alone: shifts down and to the right are each uniform within the
/// padding, every second image is mirrored.
///
/// Source   Lee et al. 2015 (arXiv:1409.5185), section 4.1, as He et al. 2016 (arXiv:1512.03385) train on CIFAR-10.
void append_looks(const Augmentation& augmentation, const LookKey& key, std::span<const std::uint32_t> examples,
                  std::vector<std::uint32_t>& looks);

/// The looks of batches, one after the other.
class Looks {
public:
    explicit Looks(const Augmentation& augmentation) : augmentation_(augmentation) {}

    /// Whether examples are seen in another way than they are.
    bool any() const { return augmentation_.any(); }

    /// One for each example, valid until the next call; empty where examples are seen as they are.
    std::span<const std::uint32_t> of(const LookKey& key, std::span<const std::uint32_t> examples) {
        looks_.clear();
        if (augmentation_.any()) append_looks(augmentation_, key, examples, looks_);
        return looks_;
    }

private:
    Augmentation augmentation_;
    std::vector<std::uint32_t> looks_;
};

/// Throws ConfigError for examples that are no images.
void check_augmentation(const Augmentation& augmentation, const ExampleShape& shape);

}  // namespace fedhive::clients
