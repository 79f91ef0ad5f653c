// Differential privacy of a config: which configs the accountant can account for, and the noise that a given ε needs.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"
#include "sim/privacy/accountant.h"

#include <optional>

namespace fedhive::sim {

/// The mechanism that the accountant composes, of a loaded config with `privacy`: a server step with q = cohort / clients and the multiplier of
/// gaussian_noise; or the sum of a node of dp_ftrl's tree, with q = 1.
SampledGaussian mechanism_of(const RunConfig& run);

/// Number of these mechanisms in `rounds` rounds, if each round makes a server step.
std::uint64_t compositions_of(const RunConfig& run, std::uint64_t rounds);

/// Refuses `privacy` if the accountant's assumptions do not hold, an ε that the given noise (or any noise) does not reach after all rounds, and,
/// also without `privacy`, a count_noise of adaptive_clip that hides the count less than the multiplier needs. Throws ConfigError through
/// `source`. Private to sim/config, as is settle_noise().
void check_privacy(const RunConfig& run, const ConfigSource& source);

/// Sets noise that the config leaves out. The multiplier of gaussian_noise or dp_ftrl becomes 1, or the smallest with which privacy.epsilon
/// holds; count_noise of adaptive_clip becomes max(cohort / 20, multiplier), or 0 without gaussian_noise; restart_every of dp_ftrl becomes
/// an epoch. To be called after the checks. Cost: with privacy.epsilon up to 24 accountants.
void settle_noise(RunConfig& run);

/// The multiplier of the noise on updates, of a loaded config with gaussian_noise: the step's own, or with adaptive_clip a larger one, since its
/// count costs privacy, too (multiplier_beside_count()).
double multiplier_of_updates(const RunConfig& run);

}  // namespace fedhive::sim
