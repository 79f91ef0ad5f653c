// The reports of a run's clients (clients/protocol/reports.h): the one list that workers, clients.csv and traffic go by.
#pragma once

#include "clients/protocol/reports.h"
#include "sim/config/run_config.h"

#include <vector>

namespace fedhive::sim {

/// In the order of their columns, which are the last of clients.csv: the measures of the run, then within_clip.
std::vector<clients::ReportSpec> report_specs(const RunConfig& run);

/// The same list as workers get it.
clients::Reports reports_of(const RunConfig& run);

/// What the sampler asks candidates for: one measure, or nothing.
clients::Reports asked_of_candidates(const RunConfig& run);

}  // namespace fedhive::sim
