// Feature skew: each client's examples are transformed in one way of that client, as if each recorded with another camera or scanner.
// It is applied once, when examples are dealt, so every engine and device reads the same values. Augmentation, which changes
// from epoch to epoch, is in transforms.h.
#pragma once

#include "clients/data/partition.h"

#include <cstdint>

namespace fedhive::clients {

struct FeatureSkew {
    std::uint32_t turns =
        1;               // 1, 2 or 4: client k's images are rotated counter-clockwise by (k mod turns) / turns of a full turn
    double noise = 0.0;  // >= 0: values of client k of N get normal noise of variance noise * (k + 1) / N

    bool any() const { return turns > 1 || noise > 0.0; }
    std::uint32_t degrees(std::size_t client) const { return static_cast<std::uint32_t>(client % turns) * 360 / turns; }
    /// Standard deviation of the client's noise, on the scale of values before normalisation (bytes: 0 to 1).
    double noise_std(std::size_t client, std::size_t clients) const;
};

/// Rotates and adds noise to the training examples of all clients, before any are held out; test examples stay.
/// Noisy values are not clipped: with noise, the bytes of both parts become the floats b / 255.
///
/// Order    noise of an example: Stream(seed, Purpose::FeatureSkew, 0, example), the same for any partition.
/// Throws   ConfigError: tokens; rotation of features that are not images, or by quarters of images that are not square; too
///          little memory for the floats.
/// Source   turns: Ghosh et al. 2020 (arXiv:2006.04088), Rotated MNIST. Noise: Li et al. 2021 (arXiv:2102.02079), noise-based
///          feature imbalance.
/// Differs  the noise of an example is drawn once, and not in every epoch.
void skew_features(Dataset& dataset, const Partition& partition, const FeatureSkew& skew, std::uint64_t seed);

}  // namespace fedhive::clients
