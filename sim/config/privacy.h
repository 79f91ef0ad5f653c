// Differential privacy by the config: what the accountant can account for, and the noise that follows from a given ε.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"
#include "sim/privacy/accountant.h"

#include <optional>

namespace fedhive::sim {

/// The mechanism that the accountant composes: a server step with q = cohort / clients and the multiplier of gaussian_noise; or the
/// sum of a node of dp_ftrl's tree, q = 1. Of a loaded config with `privacy`.
SampledGaussian mechanism_of(const RunConfig& run);

/// How many of them `rounds` rounds are, if each makes a server step.
std::uint64_t compositions_of(const RunConfig& run, std::uint64_t rounds);

/// Refuses a count_noise of adaptive_clip that hides the count less than the multiplier asks for, with or without `privacy`, and
/// `privacy` where the accountant's assumptions do not hold, and an ε that the noise, or any noise, does not reach after
/// all rounds. Throws ConfigError through `source`. Private to sim/config, as is settle_noise().
void check_privacy(const RunConfig& run, const ConfigSource& source);

/// Gives noise that was left out its number: the multiplier of gaussian_noise or dp_ftrl becomes 1, or the least with which
/// privacy.epsilon holds; count_noise of adaptive_clip becomes max(cohort / 20, multiplier), or 0 without gaussian_noise;
/// restart_every of dp_ftrl becomes an epoch. Call after the checks. Cost: with privacy.epsilon up to 24 accountants.
void settle_noise(RunConfig& run);

/// The multiplier that the updates' own noise has: that of gaussian_noise, or more beside adaptive_clip, whose count costs privacy
/// too (multiplier_beside_count()). Of a loaded config with gaussian_noise.
double multiplier_of_updates(const RunConfig& run);

}  // namespace fedhive::sim
