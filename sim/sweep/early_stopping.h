// Early stopping: which runs of a sweep go on. Runs are compared at rungs, rounds that all remaining runs have reached, so that
// no decision depends on timing or on how many run at once. Pure functions; the scheduler stops the runs.
//
// Source   halving: successive halving, Jamieson & Talwalkar 2015 (arXiv:1502.07943), with rungs that grow by `factor`;
//          median: Golovin et al. 2017, "Google Vizier: A Service for Black-Box Optimization" (KDD 2017), section 3.2.2.
// Differs  median: compares at rungs, not at every round, and only runs of the rung, not all earlier ones.
#pragma once

#include "clients/tasks/learning_task.h"
#include "sim/config/sweep_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// The first rung after round `decided` (0: before all rungs). Rungs: first_round · factor^i. Empty without a rule, or if the
/// rung would be `most_rounds` or later: no run could be stopped any more.
std::optional<std::int64_t> next_rung(const EarlyStoppingConfig& config, std::int64_t decided, std::int64_t most_rounds);

/// A run's values of its task's main metric up to a rung, in order of rounds; the last is the rung's own or the latest before.
using Qualities = std::vector<double>;

/// For each run the reason why it is stopped at this rung, "rank 7 of 9 after round 3"; empty: it goes on. At least one goes
/// on. halving: the best ceil(n / factor) by last value go on, ties in order. median: a run stops if its best value is worse
/// than the median of all runs' mean values.
std::vector<std::string> stopped_at(const EarlyStoppingConfig& config, std::int64_t rung, const std::vector<Qualities>& runs,
                                    const clients::Metric& metric);

}  // namespace fedhive::sim
