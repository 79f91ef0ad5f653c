// The next cohort of an experiment: for the round loop, and for the check of recorded arrivals before round 1.
#pragma once

#include "sim/plan/experiment.h"

namespace fedhive::sim {

/// The clients to send at the start of `round` (from 0), or after `arrived` arrivals in it, with `busy` on their way. Advances
/// now_s as sample_idle() does. ask: returns clients' measures; empty before round 1.
CountedCohort next_cohort(const Experiment& run, Sampler& sampler, const Cohort& busy, std::int64_t round, std::size_t arrived,
                          double& now_s, const AskMeasure& ask = {});

}  // namespace fedhive::sim
