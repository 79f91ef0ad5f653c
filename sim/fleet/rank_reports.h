// What ranks tell each other at the barrier: how each client that one of them has trained fared, and which failures it met. After it, the flights
// that were awaited look the same on all ranks, but for their updates (ranked_aggregation.h).
#pragma once

#include "sim/fleet/arrival_order.h"
#include "sim/fleet/deadlines.h"
#include "sim/fleet/failure_policy.h"
#include "sim/fleet/flights.h"
#include "sim/fleet/workforce.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

class RankReports {
public:
    /// All must outlive this. Where there are several ranks, all of them make theirs at the same time.
    RankReports(const FleetOptions& options, const Workforce& workforce, const Workload& workload, const Deadlines& deadlines,
                Board& board, FailurePolicy& policy, Flights& flights);

    /// These flights are here, as far as this rank trains them; returns when they are on all ranks. Throws as Ranks::all_gather.
    void exchange(const std::vector<ExpectedArrival>& arrivals);

    /// For a meeting that comes after so many tasks for each worker of any rank, with so many local steps; or after so many chunks.
    Patience patience(std::uint64_t tasks, std::uint64_t steps) const;
    Patience patience_with_chunks(std::uint64_t chunks) const;

private:
    Patience patience_with(double seconds) const;
    Patience patience(const std::vector<ExpectedArrival>& arrivals);
    std::string report(const std::vector<ExpectedArrival>& arrivals);
    void read(const std::string& report, const std::vector<ExpectedArrival>& arrivals, std::uint32_t rank);

    const FleetOptions& options_;
    const Workforce& workforce_;
    const Workload& workload_;
    const Deadlines& deadlines_;
    Board& board_;
    FailurePolicy& policy_;
    Flights& flights_;
    std::vector<std::int64_t> clock_ahead_ns_;  // by rank: of this one's now_ns()
    bool first_ = true;
};

}  // namespace fedhive::sim
