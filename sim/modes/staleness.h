// Discounts of stale updates, and the keys of modes in which server steps may overtake clients.
#pragma once

#include "aggregation/base/keys.h"

#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// s(tau): factor of an update that started tau server steps ago; s(0) = 1.
/// Source   Xie et al. 2019 (arXiv:1903.03934), section 5.2: constant, hinge, polynomial; FedBuff (Nguyen et al. 2022,
///          arXiv:2106.06639) takes 1 / sqrt(1 + tau), which is polynomial with a = 0.5.
struct Staleness {
    enum class Function { Constant, Hinge, Polynomial } function = Function::Constant;
    double a = 0.5;  // hinge: slope beyond b; polynomial: exponent
    double b = 4.0;  // hinge: steps without a discount

    double discount(std::uint64_t tau) const;
};

constexpr auto all_words(Staleness::Function) { return std::array{"constant", "hinge", "polynomial"}; }

/// staleness, staleness_a, staleness_b.
std::vector<KeySpec> staleness_keys();
Staleness staleness_of(const Values& values);

}  // namespace fedhive::sim
