// (ε, δ) of the server steps of a run, and the noise that a given ε needs.
#pragma once

#include "sim/privacy/sampled_gaussian.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// Composes equal steps: the RDP of T steps is T times that of one (Mironov 2017, arXiv:1702.07476, Proposition 1).
class PrivacyAccountant {
public:
    /// delta: above 0, below 1. Cost: a few milliseconds; below a multiplier of 0.1 more, 0.3 s at kLeastMultiplier.
    PrivacyAccountant(const SampledGaussian& step, double delta);

    /// ε after `steps` server steps; 0 after none.
    double epsilon(std::uint64_t steps) const;

private:
    std::vector<double> step_rdp_;  // by order
    double delta_;
};

/// The multipliers that the accountant takes and multiplier_for() tries.
inline constexpr double kLeastMultiplier = 0.01;
inline constexpr double kMostMultiplier = 1000.0;

/// Whether `epsilon` is within `target`, up to rounding on another machine.
inline bool within(double epsilon, double target) { return epsilon <= target * (1.0 + 1e-9); }

/// The least ε that any noise gives after `steps`, rounded up to 4 digits after the point.
double least_epsilon(double delta, double share, std::uint64_t steps);

/// The least multiple of 0.0001 from kLeastMultiplier to kMostMultiplier with which ε after `steps` is at most `epsilon`; empty if
/// there is none. Cost: at most 24 accountants.
std::optional<double> multiplier_for(double epsilon, double delta, double share, std::uint64_t steps);

/// Noise by a binary tree over the rounds: of each node, as a multiple of the clip norm; rounds after which the next tree begins.
struct NoiseTree {
    double multiplier = 1.0;
    std::uint64_t restart_every = 1;
};

/// The most noised sums that contain one client after `rounds` rounds, if it takes part once a tree: ⌊log2 n⌋ + 1 nodes of a tree
/// with n rounds contain a round. They cost as much as that many steps of multiplier z with share 1 (Kairouz et al. 2021,
/// arXiv:2103.00039, appendix D), for neighbours in which one client's updates become 0.
std::uint64_t tree_nodes(std::uint64_t rounds, std::uint64_t restart_every);

/// The multiplier of a sum of updates whose noise, with a noised count of them beside it, costs as much privacy as noise of
/// `multiplier` in the sum alone: z_Δ = (z⁻² - (2 σ_b)⁻²)^(-1/2) (Andrew et al. 2021, arXiv:1905.03871, Theorem 1). A client moves
/// the count, less a half for each of them, by 1/2. count_noise: σ_b. Empty where σ_b <= z / 2: no noise of the sum is enough.
std::optional<double> multiplier_beside_count(double multiplier, double count_noise);

}  // namespace fedhive::sim
