// Feature skew: each client's examples look another way, as other cameras or scanners see the same things. It is what a client's data are, and no
// draw of an epoch (looks.h), so it is done once, when they are dealt: no step pays for it, and every engine and device has the same values.
#pragma once

#include "clients/data/partition.h"

#include <cstdint>

namespace fedhive::clients {

struct FeatureSkew {
    std::uint32_t turns =
        1;               // 1, 2 or 4: client k's images are turned, counter-clockwise, by (k mod turns) / turns of a full turn
    double noise = 0.0;  // at least 0: values of client k of N get normal noise of variance noise * (k + 1) / N

    bool any() const { return turns > 1 || noise > 0.0; }
    std::uint32_t degrees(std::size_t client) const { return static_cast<std::uint32_t>(client % turns) * 360 / turns; }
    /// On the scale of values before they are normalised, a byte's from 0 to 1.
    double noise_std(std::size_t client, std::size_t clients) const;
};

/// Changes the training examples that somebody holds, those that will be held out among them; test examples stay. Noise is never cut off: where
/// there is some, bytes of both parts become the floats b / 255.
///
/// Order    an example's noise: by Stream(seed, Purpose::FeatureSkew, 0, example), whoever holds it.
/// Throws   ConfigError: tokens; images to turn that are none, or by quarters and not square; too little memory for the floats.
/// Source   turns: Ghosh et al. 2020 (arXiv:2006.04088), Rotated MNIST. Noise: Li et al. 2021 (arXiv:2102.02079), noise-based feature imbalance.
/// Differs  the noise of an example is drawn once, and not in every epoch.
void skew_features(Dataset& dataset, const Partition& partition, const FeatureSkew& skew, std::uint64_t seed);

}  // namespace fedhive::clients
