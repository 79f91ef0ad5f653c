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

/// Gives a multiplier of gaussian_noise that was left out its number: 1, or the least with which privacy.epsilon holds. Call
/// after check_privacy(). Cost: with privacy.epsilon up to 24 accountants.
void settle_noise(RunConfig& run);

}  // namespace fedhive::sim
