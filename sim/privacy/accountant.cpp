#include "sim/privacy/accountant.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fedhive::sim {

PrivacyAccountant::PrivacyAccountant(const SampledGaussian& step, double delta) : delta_(delta) {
    for (const double order : rdp_orders()) step_rdp_.push_back(rdp(step, order));
}

double PrivacyAccountant::epsilon(std::uint64_t steps) const {
    std::vector<double> all = step_rdp_;
    for (double& one : all) one *= static_cast<double>(steps);
    return epsilon_of(all, delta_);
}

double least_epsilon(double delta, double share, std::uint64_t steps) {
    return std::ceil(PrivacyAccountant({share, kMostMultiplier}, delta).epsilon(steps) * 1e4) / 1e4;
}

std::optional<double> multiplier_for(double epsilon, double delta, double share, std::uint64_t steps) {
    constexpr double kPerUnit = 10000.0;
    const auto enough = [&](std::int64_t multiple) {
        return within(PrivacyAccountant({share, static_cast<double>(multiple) / kPerUnit}, delta).epsilon(steps), epsilon);
    };
    std::int64_t low = std::llround(kLeastMultiplier * kPerUnit);
    std::int64_t high = std::llround(kMostMultiplier * kPerUnit);
    if (!enough(high)) return std::nullopt;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (enough(middle))
            high = middle;
        else
            low = middle + 1;
    }
    return static_cast<double>(high) / kPerUnit;
}

std::uint64_t tree_nodes(std::uint64_t rounds, std::uint64_t restart_every) {
    const auto depth = [](std::uint64_t length) { return static_cast<std::uint64_t>(std::bit_width(length)); };
    return rounds / restart_every * depth(restart_every) + depth(rounds % restart_every);
}

std::optional<double> multiplier_beside_count(double multiplier, double count_noise) {
    if (count_noise <= multiplier / 2.0) return std::nullopt;
    const double share = multiplier / (2.0 * count_noise);
    return multiplier / std::sqrt(1.0 - share * share);
}

}  // namespace fedhive::sim
