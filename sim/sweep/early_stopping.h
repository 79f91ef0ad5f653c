// Which runs of a sweep go on. Runs are compared at rungs, rounds that all runs still alive have reached, so that no decision depends on
// timing or on how many run at once. Pure: the scheduler stops whom this names.
//
// Source   halving: successive halving, Jamieson & Talwalkar 2015 (arXiv:1502.07943), with rungs that grow by `factor`;
//          median: Golovin et al. 2017, "Google Vizier: A Service for Black-Box Optimization" (KDD 2017), section 3.2.2.
// Differs  median: looks at rungs, not at every round, and at the runs of the rung, not at all that ever were.
#pragma once

#include "clients/tasks/learning_task.h"
#include "sim/config/sweep_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// The first rung after round `decided` (0: before all rungs): first_round, times factor, times factor squared, … Nothing without a rule, or
/// where it is `most_rounds` or later: there is nobody left to stop.
std::optional<std::int64_t> next_rung(const EarlyStoppingConfig& config, std::int64_t decided, std::int64_t most_rounds);

/// A run's values of its task's main metric up to a rung, in order of rounds; at least the rung's own, or the last one before.
using Qualities = std::vector<double>;

/// For each run why it is stopped at this rung, "rank 7 of 9 after round 3"; empty: it goes on. At least one goes on.
/// halving: the best ceil(n / factor) by the last value, among equals the first. median: all but those whose best value is worse than the
/// median of the runs' mean values.
std::vector<std::string> stopped_at(const EarlyStoppingConfig& config, std::int64_t rung, const std::vector<Qualities>& runs,
                                    const clients::Metric& metric);

}  // namespace fedhive::sim
