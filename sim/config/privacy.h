// Differential privacy by the config: what the accountant can account for, and the noise that follows from a given ε.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"
#include "sim/privacy/accountant.h"

#include <optional>

namespace fedhive::sim {

/// The mechanism of a server step: q = cohort / clients, and the multiplier of gaussian_noise. Of a loaded config with `privacy`.
SampledGaussian mechanism_of(const RunConfig& run);

/// Refuses `privacy` where the accountant's assumptions do not hold, and an ε that the noise, or any noise, does not reach after
/// all rounds. Throws ConfigError through `source`. Private to sim/config, as is settle_noise().
void check_privacy(const RunConfig& run, const ConfigSource& source);

/// Refuses a count_noise of adaptive_clip that hides the count less than the multiplier says, with any noise of the updates. Call
/// after check_privacy(). Private to sim/config.
void check_count_noise(const RunConfig& run, const ConfigSource& source);

/// Gives noise that was left out its number: the multiplier of gaussian_noise becomes 1, or the least with which privacy.epsilon
/// holds; count_noise of adaptive_clip becomes max(cohort / 20, multiplier), or 0 without gaussian_noise. Call after the checks.
/// Cost: with privacy.epsilon up to 24 accountants.
void settle_noise(RunConfig& run);

/// The multiplier that the updates' own noise has: that of gaussian_noise, or more beside adaptive_clip, whose count costs privacy
/// too (multiplier_beside_count()). Of a loaded config with gaussian_noise.
double multiplier_of_updates(const RunConfig& run);

}  // namespace fedhive::sim
